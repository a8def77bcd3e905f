"""Whether a budget can be used up at one moment, so that a job that is told no at once stops asking."""

from __future__ import annotations

from domain.budgets.aws import AwsTokenBucket
from domain.budgets.codes import ENVOY, NONE
from domain.budgets.decide import RetryBudget
from domain.budgets.window_ratio import WindowRatioBudget


def runs_out(budget: RetryBudget) -> bool:
    """Whether retries asked for at one moment use it up.

    Envoy's counts those that are on, which a retry that has been told no already is not; a bucket from
    which an error takes nothing is never empty; of all requests, all may be retries.
    """
    if isinstance(budget, AwsTokenBucket):
        return min(budget.error_cost, budget.throttle_cost) > 0
    if isinstance(budget, WindowRatioBudget):
        return budget.ratio < 1
    return budget.code not in (NONE, ENVOY)
