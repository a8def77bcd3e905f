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
REPLICAS = "tipover_replicas"
POD_SECONDS = "tipover_pod_seconds_total"
CAPACITY = "tipover_capacity_per_second"
REFUSALS = "tipover_refusals_total"
LOG_LINES = "tipover_log_lines_total"
AUTOSCALER_READING = "tipover_autoscaler_reading"
AUTOSCALER_PROPOSAL = "tipover_autoscaler_proposal"
AUTOSCALER_WANTED = "tipover_autoscaler_wanted"
AUTOSCALER_REPLICAS = "tipover_autoscaler_replicas"
AUTOSCALER_READY = "tipover_autoscaler_ready"
AUTOSCALER_DECISIONS = "tipover_autoscaler_decisions_total"
BUILD_INFO = "tipover_build_info"
RECOGNISED = "tipover_recognised_total"
ROUTE_ATTEMPTS = "tipover_route_attempts_total"
REMEMBERED_IDS = "tipover_remembered_ids"
EVICTED_IDS = "tipover_evicted_ids_total"
OUTSTANDING = "tipover_outstanding"
MAX_OUTSTANDING = "tipover_outstanding_limit"
CLIENT_CONNECTIONS = "tipover_client_connections"
UPSTREAM_CONNECTIONS = "tipover_upstream_connections"
LISTEN_DROPS = "tipover_listen_drops_total"

LABEL_ATTEMPT = "attempt"
LABEL_OUTCOME = "outcome"
LABEL_STATE = "state"
LABEL_REASON = "reason"
LABEL_RESULT = "result"
LABEL_SIGNAL = "signal"
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
    PODS: "Pods: busy or idle (both ready), draining (given up and in service still), or starting.",
    REPLICAS: "Pods ordered, ready or not.",
    POD_SECONDS: "Seconds that pods were ready, summed over pods.",
    CAPACITY: "Attempts per second that the service gives now.",
    REFUSALS: "Attempts wanted and not sent or not admitted, by reason.",
    LOG_LINES: "Access-log lines read, by result. A line is written when its request ends: counts made from "
    "lines are late by the time it took, and of requests that hang there is no line.",
    AUTOSCALER_READING: "What a signal read at the last decision: the used share of ready pods for cpu, "
    "attempts per second for the others; nothing while it is in error.",
    AUTOSCALER_PROPOSAL: "Pods that a signal asked for at the last decision.",
    AUTOSCALER_WANTED: "Pods that the signals together wanted at the last decision, before any limit.",
    AUTOSCALER_REPLICAS: "Pods ordered, as of the last decision.",
    AUTOSCALER_READY: "Pods that were ready at the last decision.",
    AUTOSCALER_DECISIONS: "Decisions made, by result.",
    BUILD_INFO: "Always 1; the version is in the label.",
    RECOGNISED: "Attempts by the convention that told first ones from retries; id: an id seen before or not.",
    ROUTE_ATTEMPTS: "Attempts begun by route (a path's first segment), first ones and retries apart.",
    REMEMBERED_IDS: "Ids in the memory that tells retries where no header does.",
    EVICTED_IDS: "Ids forgotten before their time because that memory was full: it is too small.",
    OUTSTANDING: "Exchanges that an upstream has not ended, whether their client still waits or not.",
    MAX_OUTSTANDING: "Exchanges above which the meter itself says no (meter-full).",
    CLIENT_CONNECTIONS: "Connections of clients to the meter.",
    UPSTREAM_CONNECTIONS: "Connections of the meter to upstreams, idle ones included.",
    LISTEN_DROPS: "Connections the kernel dropped because the meter's accept queue was full.",
}
