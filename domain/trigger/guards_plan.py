"""What stops a trigger test, as it was asked for: who may be loaded, and when the load ends at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Guards:
    """The stop conditions of one test; the ceilings are the plan's.

    ``allow_file`` names the list of hosts other than loopback that may be loaded, ``yes`` stands in for the
    typed confirmation. ``health_url`` is a bystander that must stay well: the test stops once it has failed
    for ``health_for_s``. ``stop_query`` is asked of ``prometheus`` (a URL); a value above 0 for
    ``stop_for_s`` means stop, and so does no value. ``received_query`` is asked of it too: how many attempts
    the service has received. A file ``stop_file``, or ``STOP`` in the run directory, ends the test.
    ``most_error_ratio`` of the attempts may fail before the spike.
    """

    allow_file: str | None = None
    health_url: str | None = None
    health_for_s: float = 2.0
    prometheus: str | None = None
    stop_query: str | None = None
    stop_for_s: float = 2.0
    received_query: str | None = None
    stop_file: str = "STOP"
    most_error_ratio: float = 0.05
    yes: bool = False
