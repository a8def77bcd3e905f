"""The run in time buckets, for plots and for ``series.parquet``; everything in scenario time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from analysis.estimators import retry_span_s
from analysis.result import Floats
from analysis.trace import Attempts
from domain.experiment import Experiment

BUCKETS = 300
LEAST_BUCKETS = 40
SAMPLE = 10_000
COLUMNS = (
    "t_s",
    "demand_per_s",
    "ingress_per_s",
    "goodput_per_s",
    "success_ratio",
    "amplification",
    "latency_p50_s",
    "latency_p95_s",
    "wait_s",
    "pods",
    "replicas",
)


def bucket_s(experiment: Experiment) -> float:
    """Width of a bucket in scenario seconds: about 300 of them, none shorter than a quarter of the
    timeout unless that left fewer than 40."""
    length = experiment.duration_s
    return min(max(length / BUCKETS, experiment.client.timeout_s / 4), length / LEAST_BUCKETS)


def build_series(attempts: Attempts, server: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """One row per bucket with ``COLUMNS``, as ``RunResult.series`` says; NaN where a bucket has no samples.

    Ratios count jobs by their bucket of planned start; a job that the run ended before it could be
    answered or time out is left out of ``success_ratio``, one that could have made more attempts is left
    out of ``amplification``.
    """
    scale, width = experiment.run.speedup, bucket_s(experiment)
    live_end = min(attempts.end_s, experiment.duration_s / scale)
    count = max(1, int(np.ceil(live_end * scale / width - 1e-9))) if live_end > 0 else 0
    edges = np.asarray(width / scale * np.arange(count + 1), dtype=np.float64)
    if count == 0:
        return pd.DataFrame({name: np.empty(0) for name in COLUMNS})
    seconds = width / scale

    def per_second(times_s: Floats) -> Floats:
        return np.asarray(np.histogram(times_s[np.isfinite(times_s)], edges)[0] / seconds)

    known = attempts.job_answered | (
        attempts.job_planned_s <= attempts.end_s - experiment.client.timeout_s / scale
    )
    due = attempts.job_planned_s
    # A job that could have gone on when the trace ended has not made all its attempts.
    over = attempts.job_answered | (due <= attempts.end_s - retry_span_s(experiment.live()))
    p50, p95 = _latency(attempts, edges)
    return pd.DataFrame(
        {
            "t_s": edges[:-1] * scale,
            "demand_per_s": per_second(attempts.planned_s[attempts.first]),
            "ingress_per_s": per_second(attempts.sent_s[attempts.sent]),
            "goodput_per_s": per_second(attempts.done_s[attempts.ok]),
            "success_ratio": _mean(due[known], attempts.job_answered[known].astype(np.float64), edges),
            "amplification": _mean(due[over], attempts.job_sent[over].astype(np.float64), edges),
            "latency_p50_s": p50 * scale,
            "latency_p95_s": p95 * scale,
            "wait_s": _mean(server["t_s"].to_numpy(), server["backlog_s"].to_numpy(), edges) * scale,
            "pods": _mean(server["t_s"].to_numpy(), server["pods"].to_numpy(), edges),
            "replicas": _mean(server["t_s"].to_numpy(), server["replicas"].to_numpy(), edges),
        }
    )


def _mean(times_s: Floats, values: Floats, edges: Floats) -> Floats:
    finite = np.isfinite(values)
    count = np.histogram(times_s[finite], edges)[0]
    total = np.histogram(times_s[finite], edges, weights=values[finite])[0]
    mean = np.full(count.shape, np.nan, dtype=np.float64)
    np.divide(total, count, out=mean, where=count > 0)
    return mean


def _latency(attempts: Attempts, edges: Floats) -> tuple[Floats, Floats]:
    """Median and 95th percentile of done − planned by the bucket of sending; aborted attempts have none."""
    latency = attempts.done_s - attempts.planned_s
    known = np.isfinite(latency) & (attempts.ok | attempts.failing)
    bucket = np.searchsorted(edges, attempts.sent_s[known], side="right") - 1
    order = np.lexsort((latency[known], bucket))
    bucket, ordered = bucket[order], latency[known][order]
    first = np.searchsorted(bucket, np.arange(edges.size))
    p50, p95 = np.full(edges.size - 1, np.nan), np.full(edges.size - 1, np.nan)
    for i, (begin, end) in enumerate(pairwise(first.tolist())):
        if end > begin:
            p50[i], p95[i] = np.quantile(ordered[begin:end], (0.5, 0.95))
    return p50, p95


def sample_attempts(attempts: pd.DataFrame, speedup: float) -> pd.DataFrame:
    """At most ten thousand attempts, evenly over the run, in scenario time: ``planned_s, latency_s,
    outcome``."""
    chosen = np.unique(np.linspace(0, len(attempts) - 1, min(SAMPLE, len(attempts))).astype(np.int64))
    some = attempts.iloc[chosen]
    return pd.DataFrame(
        {
            "planned_s": some["planned_s"].to_numpy() * speedup,
            "latency_s": (some["done_s"] - some["planned_s"]).to_numpy() * speedup,
            "outcome": some["outcome"].astype(str).to_numpy(dtype=object),
        }
    )
