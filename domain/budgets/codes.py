"""The numbers by which budgets are told apart, and what they and their callers say to each other."""

from __future__ import annotations

NONE, RATIO, WINDOW_RATIO, AWS, GRPC, FINAGLE, ENVOY = range(7)
TIMED_OUT, FAILED, THROTTLED = range(3)
"""How an attempt failed: no answer in time; an error, a broken connection; told to come later (429, 503)."""
REFUSED = -1.0
"""The price of a retry that may not be sent."""
ROUNDING = 1e-9
"""By how much a sum of decimal fractions may miss a whole number and still count as it."""
