"""The locustfile that ``tipover run`` uses; it works with plain ``locust -f`` just the same."""

from tipover.locust_plugin import StormUser


class TipoverUser(StormUser):
    """Sends ``GET /work`` as the scenario says."""
