"""The locustfile that ``tipover trigger`` uses when the user gives none."""

from loadgen.steered.locust_side import PlannedUser
from tipover.locust_plugin import StormUser

__all__ = ["StormUser", "TriggerUser"]


class TriggerUser(PlannedUser):
    """Sends the plan's requests."""
