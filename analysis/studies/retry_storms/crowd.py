"""Sim C: 4,000 clients that fail together at time zero and come back by their backoff."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from analysis.plots.canvas import BLUE, GREEN, VERMILLION
from analysis.result import Floats
from analysis.studies.agreement import same
from analysis.studies.chart import new_chart
from analysis.studies.claims import Claim, Figure
from analysis.wording import number
from domain.backoff import Backoff, ExponentialBackoff, FixedBackoff, FullJitterBackoff, NoBackoff

SOURCE = "001 Sim C"
CLIENTS = 4_000
RETRIES = 4
BASE_S, CAP_S = 1.0, 20.0
HORIZON_S = 35.0
BUCKET_S = 1.0
FINE_BUCKET_S = 0.05
SEED = 1
WAVES_S = (1.0, 3.0, 7.0, 15.0)
STRATEGIES: dict[str, Backoff] = {
    "no wait": NoBackoff(),
    "fixed 1 s": FixedBackoff(BASE_S),
    "exponential": ExponentialBackoff(BASE_S, CAP_S),
    # The listing draws U(0, min(cap, base·2^i)) from i = 0; ours counts the failures, which start at 1.
    "full jitter": FullJitterBackoff(BASE_S / 2, CAP_S),
}
DECORRELATED = "decorrelated jitter"
COLOURS = {"exponential": VERMILLION, "full jitter": BLUE, DECORRELATED: GREEN}


@dataclass(frozen=True, slots=True)
class Crowd:
    """When retries are sent, in seconds after the glitch, shape (clients, retries), by strategy."""

    sent_s: dict[str, Floats]

    def per_s(self, strategy: str, bucket_s: float) -> Floats:
        """Retries per second in buckets of this width, from time zero to the horizon."""
        edges = np.linspace(0.0, HORIZON_S, round(HORIZON_S / bucket_s) + 1)
        return np.asarray(np.histogram(self.sent_s[strategy], edges)[0] / bucket_s, dtype=np.float64)

    def peak_per_s(self, strategy: str, bucket_s: float, after_s: float = 0.0) -> float:
        """The fullest bucket at or after a time."""
        return float(self.per_s(strategy, bucket_s)[round(after_s / bucket_s) :].max())

    def calm_from_s(self, strategy: str, below_per_s: float) -> float:
        """From which whole second on the rate stays below a value."""
        over = np.flatnonzero(self.per_s(strategy, BUCKET_S) >= below_per_s)
        return float(over[-1] + 1) * BUCKET_S if over.size else 0.0


def work_out() -> Crowd:
    """Every attempt fails, so each client sends all its retries; an attempt itself takes no time."""
    rng = np.random.default_rng(SEED)
    draws = rng.random((CLIENTS, RETRIES))
    sent = {
        name: np.cumsum(
            [[rule.delay_s(n + 1, u) for n, u in enumerate(row)] for row in draws.tolist()], axis=1
        )
        for name, rule in STRATEGIES.items()
    }
    sent[DECORRELATED] = np.cumsum(_decorrelated(draws), axis=1)
    return Crowd(sent)


def _decorrelated(draws: Floats) -> Floats:
    """min(cap, U(base, 3 · the wait before)), the first wait counting as base."""
    waits = np.empty_like(draws)
    before = np.full(len(draws), BASE_S)
    for n in range(draws.shape[1]):
        before = np.minimum(CAP_S, BASE_S + draws[:, n] * (3.0 * before - BASE_S))
        waits[:, n] = before
    return waits


def claims(crowd: Crowd) -> list[Claim]:
    """Waves of the exponential rule, the peak of full jitter, and what the source gives no figure for."""
    times, heights = _waves(crowd)
    jitter, fine = (crowd.peak_per_s("full jitter", width) for width in (BUCKET_S, FINE_BUCKET_S))
    decorrelated = crowd.peak_per_s(DECORRELATED, BUCKET_S)
    judged = same(times, list(WAVES_S))
    low = min(heights)
    return [
        Claim(
            "Exponential backoff without jitter comes in waves",
            SOURCE,
            "at 1, 3, 7 and 15 s",
            f"at {', '.join(f'{t:g}' for t in times)} s",
            judged.agrees,
            "sums of 1, 2, 4 and 8 s",
        ),
        Claim(
            "Each of these waves",
            SOURCE,
            "more than 3,000 req/s",
            f"{number(low)} in its second",
            low > 3000,
            "all 4,000 clients at one instant: 4,000 per 1 s bucket, and any other figure by another width",
        ),
        Claim(
            "Peak load under full jitter",
            SOURCE,
            "below 400 req/s",
            f"{number(jitter)}/s in 1 s buckets",
            jitter < 400,
            "the first wait of the listing is U(0, 1 s), so all 4,000 clients return within the first second,"
            f" and the second retries begin in it too. A bucket of {FINE_BUCKET_S:g} s holds at most"
            f" {number(fine * FINE_BUCKET_S)}, so 400 may be a count per narrow bucket and not a rate. The"
            f" rate stays below 400/s only from {crowd.calm_from_s('full jitter', 400):g} s on",
        ),
        Claim(
            "Peak load under decorrelated jitter",
            SOURCE,
            "no figure",
            f"{number(decorrelated)}/s in 1 s buckets",
            None,
            "nobody returns in the first second; the first wait is U(1, 3 s)",
        ),
    ]


def _waves(crowd: Crowd) -> tuple[list[float], list[float]]:
    """Instants at which clients of the exponential rule return together, and their number in that second."""
    times = np.unique(crowd.sent_s["exponential"]).tolist()
    rate = crowd.per_s("exponential", BUCKET_S)
    return times, [float(rate[int(t / BUCKET_S)]) for t in times]


def data(crowd: Crowd) -> dict[str, Any]:
    """Rates per second and peaks, by strategy."""
    return {
        "bucket_s": BUCKET_S,
        "fine_bucket_s": FINE_BUCKET_S,
        "strategies": {
            name: {
                "per_s": crowd.per_s(name, BUCKET_S),
                "peak_per_s": crowd.peak_per_s(name, BUCKET_S),
                "peak_per_s_fine": crowd.peak_per_s(name, FINE_BUCKET_S),
                "below_400_per_s_from_s": crowd.calm_from_s(name, 400.0),
            }
            for name in crowd.sent_s
        },
    }


def figure(crowd: Crowd) -> Figure:
    """Retries per second against time, one panel per strategy that waits."""
    peaks = ", ".join(f"{name} {number(crowd.peak_per_s(name, BUCKET_S))}/s" for name in COLOURS)

    def draw(path: Path) -> None:
        chart = new_chart(
            "Retries per second after 4,000 clients have failed together",
            "seconds after the glitch",
            ["retries per second"] * len(COLOURS),
            panel_in=2.9,
            share_y=True,
        )
        edges = np.linspace(0.0, HORIZON_S, round(HORIZON_S / BUCKET_S) + 1)
        for axes, (name, colour) in zip(chart.panels, COLOURS.items(), strict=True):
            axes.stairs(crowd.per_s(name, BUCKET_S), edges, fill=True, color=colour, label=name)
            axes.axhline(400, color="black", lw=0.9, ls=(0, (5, 2.5)), label="400/s, the source's bound")
            axes.set_xlim(0, HORIZON_S)
        chart.save(path)

    return Figure(
        "crowd",
        "4,000 clients fail at time zero and retry four times (base 1 s, cap 20 s); buckets of 1 s. Every"
        f" attempt fails at once. Fullest bucket: {peaks}.",
        draw,
    )
