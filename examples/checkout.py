"""A locustfile with a request of its own; see the README, "It is also a Locust generator"."""

from tipover.locust_plugin import Job, Request, StormUser


class Checkout(StormUser):
    """Posts an order; only a 200 or 201 is a success."""

    def request(self, job: Job) -> Request:
        """One request per job: every attempt of the job sends it again."""
        body = b'{"order": %d}' % job.job_id
        return Request("POST", "/work", {"Content-Type": "application/json"}, body)

    def is_success(self, status: int) -> bool:
        """Redirects do not count here."""
        return status in {200, 201}
