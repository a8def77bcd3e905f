"""Seed 001, "Non-linear Dynamics of Retry Storms": its three simulations.

``call_tree`` is Sim A, ``ramp`` Sim B and ``crowd`` Sim C; ``chain`` is the chain of services that Sim A
is about.
"""

from __future__ import annotations

from analysis.studies.claims import Progress, StudyResult
from analysis.studies.retry_storms import call_tree, crowd, ramp

TITLE = "Retry storms: call trees, a hysteresis loop, four thousand clients"
SOURCE = '"Non-linear Dynamics of Retry Storms", paper 08 of a series (001)'


def run(effort: float, progress: Progress) -> StudyResult:
    """Work the three simulations out; ``effort`` scales requests and seeds."""
    tree = call_tree.work_out(effort, lambda share: progress("call trees", 0.3 * share))
    loop = ramp.work_out(effort, lambda share: progress("ramping demand up and down", 0.3 + 0.6 * share))
    progress("four thousand clients", 0.95)
    clients = crowd.work_out()
    return StudyResult(
        name="retry-storms",
        title=TITLE,
        claims=(*call_tree.claims(tree), *ramp.claims(loop), *crowd.claims(clients)),
        figures=(call_tree.figure(tree), ramp.figure(loop), crowd.figure(clients)),
        data={"call_tree": call_tree.data(tree), "ramp": ramp.data(loop), "crowd": crowd.data(clients)},
        settings={
            "effort": effort,
            "source": SOURCE,
            "symbols": "p is the share of attempts that fail, m how many attempts a caller may make",
            "requests_per_call_tree": tree.requests,
            "ramp": (
                f"capacity {ramp.CAPACITY_PER_S:,.0f}/s, timeout {ramp.TIMEOUT_S:g} s, {ramp.STATED.words},"
                f" {ramp.STEP}/s every {ramp.DWELL_S:g} s, {len(loop.simulated)} seeds"
            ),
            "clients": crowd.CLIENTS,
            "bucket_s": crowd.BUCKET_S,
        },
    )
