"""Every metric name, label and help text: one place, so that dashboards and tests cannot drift apart.

Counters are named with their ``_total``, as they are scraped.
"""

from __future__ import annotations

ATTEMPTS = "tipover_attempts_total"
OUTCOMES = "tipover_outcomes_total"
INFLIGHT = "tipover_inflight"
ATTEMPT_DURATION = "tipover_attempt_duration_seconds"
QUEUE_DEPTH = "tipover_queue_depth"
BACKLOG = "tipover_backlog_seconds"
BUSY = "tipover_busy_seconds_total"
ABANDONED_WORK = "tipover_abandoned_work_seconds_total"
PODS = "tipover_pods"
REFUSALS = "tipover_refusals_total"
BUILD_INFO = "tipover_build_info"

LABEL_ATTEMPT = "attempt"
LABEL_OUTCOME = "outcome"
LABEL_STATE = "state"
LABEL_REASON = "reason"
LABEL_VERSION = "version"

FIRST = "first"
RETRY = "retry"

HELP: dict[str, str] = {
    ATTEMPTS: "Attempts begun, first ones and retries apart; ingress is their sum.",
    OUTCOMES: "Attempts ended, by outcome.",
    INFLIGHT: "Attempts begun and not ended.",
    ATTEMPT_DURATION: "Seconds from the beginning of an attempt to its end.",
    QUEUE_DEPTH: "Attempts waiting for a pod.",
    BACKLOG: "Work queued and in service, in seconds of the nominal capacity.",
    BUSY: "Seconds of service given, summed over pods.",
    ABANDONED_WORK: "Seconds of service given to attempts whose client had gone.",
    PODS: "Pods: busy, idle, or draining (in service beyond the size the fleet was shrunk to).",
    REFUSALS: "Attempts wanted and not sent or not admitted, by reason.",
    BUILD_INFO: "Always 1; the version is in the label.",
}
