"""How each gateway says that a request did not end as it should.

Sources: HAProxy's configuration manual, "Session state at disconnection"; nginx's ``$status`` and
``$upstream_header_time``; Envoy's "Access logging", response flags.
"""

from __future__ import annotations

from meter.access_log.entry import Ending, Gateway

NGINX_CLIENT_GONE = 499

_HAPROXY = {
    "C": Ending.ABANDONED,  # the client aborted
    "c": Ending.ABANDONED,  # the client neither read nor wrote for its timeout
    "S": Ending.BROKEN,  # the server refused or aborted
    "s": Ending.TIMED_OUT,  # the server neither answered nor wrote for its timeout, or the queue's has passed
    "R": Ending.BROKEN,  # the proxy had run out of something
    "I": Ending.BROKEN,  # an internal error of the proxy
    "K": Ending.BROKEN,  # killed by an operator
    "U": Ending.BROKEN,  # killed because a better server came up
    "D": Ending.BROKEN,  # killed because the server went down
}
"""By the first letter of the termination state; ``-``, ``P`` and ``L`` are answers like others."""

_ENVOY_CLIENT_GONE = frozenset({"DC", "DR", "DownstreamConnectionTermination", "DownstreamRemoteReset"})
_ENVOY_TIMED_OUT = frozenset(
    {"UT", "SI", "UMSDR", "DT", "UpstreamRequestTimeout", "StreamIdleTimeout",
     "UpstreamMaxStreamDurationReached", "DurationTimeout"}
)  # fmt: skip
_ENVOY_BROKEN = frozenset(
    {"UF", "UC", "UH", "UR", "LR", "UPE", "NC", "DF", "UpstreamConnectionFailure",
     "UpstreamConnectionTermination", "NoHealthyUpstream", "UpstreamRemoteReset", "LocalReset",
     "UpstreamProtocolError", "NoClusterFound", "DnsResolutionFailed"}
)  # fmt: skip


def ending(gateway: Gateway, said: str, status: int) -> Ending:
    """What ``said`` means: HAProxy's termination state, Envoy's response flags, or nginx's
    ``$upstream_header_time``, which is missing where nginx itself made up the answer."""
    if gateway == "haproxy":
        return _HAPROXY.get(said[:1], Ending.WHOLE)
    if gateway == "envoy":
        return _of_flags(frozenset(said.split(",")))
    if status == NGINX_CLIENT_GONE:
        return Ending.ABANDONED
    # Several tries are listed with commas or colons between them; the last one is the client's answer.
    if said.endswith("-"):
        return {502: Ending.BROKEN, 504: Ending.TIMED_OUT}.get(status, Ending.WHOLE)
    return Ending.WHOLE


def _of_flags(flags: frozenset[str]) -> Ending:
    for known, meaning in (
        (_ENVOY_CLIENT_GONE, Ending.ABANDONED),
        (_ENVOY_TIMED_OUT, Ending.TIMED_OUT),
        (_ENVOY_BROKEN, Ending.BROKEN),
    ):
        if flags & known:
            return meaning
    return Ending.WHOLE
