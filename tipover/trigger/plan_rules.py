"""Rules that tie several values of a plan file together, or that take more than a range to say.

As with scenarios they read the file's own tables, so that they can speak even when a value elsewhere is
wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

from domain.errors import Fault
from domain.trigger.plan import TriggerPlan
from tipover.requests.secrets import is_sensitive
from tipover.scenario_client_rules import client_faults
from tipover.scenario_raw import Raw, is_number, number, table
from tipover.scenario_tables.base import default

LEAST_PATIENCE = 3.0
"""Timeouts that a probe must be able to wait beyond the spike's dose."""
_SCHEMES = ("http", "https")
BASE_RULE = "must be a base URL, without a path: paths are those of [[request]]"
PROBE_BASE_RULE = "must be a base URL, without a path: probes go to the paths of the requests"


def cross_faults(raw: Raw) -> list[Fault]:
    """Every fault that takes more than one value, or a look at a URL, to see."""
    return [
        *_url_faults(raw),
        *_patience_faults(raw),
        *_prometheus_faults(raw),
        *_unneeded_faults(raw),
        *client_faults(raw),
    ]


def _url_faults(raw: Raw) -> Iterator[Fault]:
    target, probes, guards = table(raw, "target"), table(raw, "probes"), table(raw, "guards")
    yield from url_faults("target.url", target.get("url"), base=BASE_RULE)
    yield from url_faults("target.probe_url", target.get("probe_url"), base=PROBE_BASE_RULE)
    yield from url_faults("probes.prometheus", probes.get("prometheus"))
    yield from url_faults("guards.prometheus", guards.get("prometheus"))
    yield from url_faults("guards.health_url", guards.get("health_url"))


def url_faults(field: str, url: object, *, base: str | None = None) -> Iterator[Fault]:
    """What is wrong with a URL; nothing if it is no text. ``base``: the rule that it must have no path."""
    if not isinstance(url, str) or not url:
        return
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        yield Fault(field, f"must be a URL: {error}", url)
        return
    if "@" in parts.netloc:
        yield Fault(field, "must not carry a name or password, which would be recorded", "…@…")
        return
    secret = next((name for name, value in parse_qsl(parts.query) if is_sensitive(name, value)), None)
    if secret is not None:
        yield Fault(field, f"must not carry a credential, which would be recorded ({secret})", "…")
        return
    if parts.scheme not in _SCHEMES or not host or port == 0:
        yield Fault(field, "must be a URL such as http://127.0.0.1:8080", url)
    elif base and (parts.path not in ("", "/") or parts.query or parts.fragment):
        yield Fault(field, base, url)


def _patience_faults(raw: Raw) -> Iterator[Fault]:
    patience_s = table(raw, "probes").get("patience_s")
    timeout_s = table(raw, "client").get("timeout_s")
    dose = number(table(raw, "test"), "dose", default(TriggerPlan, "dose"))
    if not (is_number(patience_s) and is_number(timeout_s)) or patience_s <= 0:
        return
    least_s = (dose + LEAST_PATIENCE) * timeout_s
    if patience_s < least_s:
        rule = (
            f"must be at least {least_s:g}, which is the spike's dose of {dose:g} and {LEAST_PATIENCE:g} "
            f"more timeouts of {timeout_s:g} s: a probe must see the end of the queue"
        )
        yield Fault("probes.patience_s", rule, patience_s)


def _prometheus_faults(raw: Raw) -> Iterator[Fault]:
    probes, guards = table(raw, "probes"), table(raw, "guards")
    urls = {probes.get("prometheus"), guards.get("prometheus")} - {None}
    if len(urls) == 2:
        rule = f"must be that of [probes], {probes['prometheus']}: one Prometheus is asked"
        yield Fault("guards.prometheus", rule, guards["prometheus"])
    asked = [(f"{name}.{key}", at[key]) for name, at, key in _queries(raw) if key in at]
    if not urls:
        for field, query in asked:
            yield Fault(field, "needs the URL of a Prometheus, probes.prometheus (--prometheus)", query)
    elif not asked:
        rule = "is asked nothing: give probes.received (--received) or guards.stop_query (--stop-query)"
        yield Fault("probes.prometheus" if "prometheus" in probes else "guards.prometheus", rule, urls.pop())


def _queries(raw: Raw) -> tuple[tuple[str, Raw, str], ...]:
    probes, guards = table(raw, "probes"), table(raw, "guards")
    return ("probes", probes, "received"), ("guards", guards, "stop_query")


def _unneeded_faults(raw: Raw) -> Iterator[Fault]:
    guards = table(raw, "guards")
    for key, needed in (("health_for_s", "health_url"), ("stop_for_s", "stop_query")):
        if key in guards and needed not in guards:
            yield Fault(f"guards.{key}", f"needs guards.{needed}", guards[key])
