"""A small Flask application: ``/work`` takes a while, ``/received`` says how many times it was asked."""

from __future__ import annotations

import os
import random
import time

from flask import Flask

WORK_S = float(os.environ.get("WORK_S", "0.005"))
KIND = os.environ.get("WORK_KIND", "fixed")

app = Flask(__name__)
counts = {"work": 0}


@app.get("/work")
def work() -> str:
    """Sleep for the service time, as a call to a database would."""
    counts["work"] += 1
    time.sleep(WORK_S if KIND == "fixed" else random.expovariate(1 / WORK_S))
    return "done"


@app.get("/received")
def received() -> str:
    """Calls of ``/work`` so far."""
    return str(counts["work"])
