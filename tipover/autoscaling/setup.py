"""From what was asked for to the parts that do it; all faults are found before anything starts."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from domain.errors import ConfigurationError, Fault
from domain.fleet import Fleet, Signal
from tipover.autoscaling.places import Clock, PrometheusPlace, ScrapedPage
from tipover.autoscaling.readings import QueriedReadings, Readings, ScrapedReadings, Source, default_queries
from tipover.autoscaling.targets.compose import ComposeScale, compose_program
from tipover.autoscaling.targets.dry import FixedPods, OnlyWatched
from tipover.autoscaling.targets.http import HttpScale
from tipover.autoscaling.targets.kubectl import KINDS, KubectlScale
from tipover.autoscaling.targets.scale import ScaleTarget

SIGNALS: tuple[Signal, ...] = get_args(Signal)
LONGEST_WAIT_S = 2.0
"""For a page, a Prometheus or a ``/scale``; less if the sync period is short."""
SUMMARY = "the autoscaler cannot be started"
_SERVICE = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]*")
_OBJECT = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


def refused(*faults: Fault) -> ConfigurationError:
    """What is raised for any of them."""
    return ConfigurationError(SUMMARY, faults)


@dataclass(frozen=True, slots=True)
class Where:
    """Options that say where programs find what they scale."""

    compose_files: tuple[str, ...] = ()
    project_directory: str | None = None
    project_name: str | None = None
    namespace: str | None = None
    context: str | None = None

    def compose(self) -> list[str]:
        """For ``docker compose``."""
        options = [word for file in self.compose_files for word in ("-f", file)]
        options += ["--project-directory", self.project_directory] if self.project_directory else []
        return options + (["-p", self.project_name] if self.project_name else [])

    def kubectl(self) -> list[str]:
        """For ``kubectl``."""
        options = ["-n", self.namespace] if self.namespace else []
        return options + (["--context", self.context] if self.context else [])


def wait_s(fleet: Fleet, looks: int) -> float:
    """How long a look may take: no longer than until the next."""
    return min(LONGEST_WAIT_S, max(0.1, fleet.sync_period_s / looks))


def readings_from(
    fleet: Fleet,
    scrapes: Sequence[str],
    prometheus: str | None,
    queries: Sequence[str],
    *,
    looks: int,
    now: Clock,
) -> Readings:
    """Either of the two; raises ``ConfigurationError``."""
    if bool(scrapes) == bool(prometheus):
        raise refused(Fault("--scrape", "or --prometheus must be given, and not both", None))
    within_s = wait_s(fleet, looks)
    if prometheus:
        own = _queries(queries, fleet)
        return QueriedReadings(PrometheusPlace(prometheus, within_s), {**default_queries(fleet), **own})
    if queries:
        raise refused(Fault("--query", "goes with --prometheus", queries[0]))
    sources = [_source(text, within_s, now) for text in scrapes]
    for signal in fleet.signals:
        if not any(signal in source.signals for source in sources):
            raise refused(Fault("--scrape", f"names no page for the signal {signal}", None))
    return ScrapedReadings(sources, fleet, fleet.sync_period_s / looks)


def _source(text: str, within_s: float, now: Clock) -> Source:
    """``URL``, or ``SIGNAL,SIGNAL=URL`` for a page that only some signals are read from."""
    listed, equals, url = text.partition("=")
    if not equals or "/" in listed:
        return Source(ScrapedPage(text, within_s, now), frozenset(SIGNALS))
    return Source(ScrapedPage(url, within_s, now), frozenset(signals_from(listed, "--scrape")))


def signals_from(text: str, option: str) -> tuple[Signal, ...]:
    """Signals with commas between them; raises ``ConfigurationError``."""
    named = [word.strip() for word in text.split(",")]
    unknown = [word for word in named if word not in SIGNALS]
    if unknown:
        raise refused(Fault(option, f"must name signals of {', '.join(SIGNALS)}", unknown[0]))
    return tuple(named)  # type: ignore[arg-type]  # each is one of them


def _queries(texts: Sequence[str], fleet: Fleet) -> Mapping[Signal, str]:
    found: dict[Signal, str] = {}
    for text in texts:
        name, equals, query = text.partition("=")
        if not equals or not query.strip() or name not in fleet.signals:
            rule = f"must be SIGNAL=PROMQL with a signal of {', '.join(fleet.signals)}"
            raise refused(Fault("--query", rule, text))
        if name in found:
            raise refused(Fault("--query", "must be given once for a signal", text))
        found[name] = query
    return found


def target_from(
    text: str,
    fleet: Fleet,
    *,
    pods: int | None,
    within_s: float,
    allowed_hosts: Collection[str],
    where: Where,
) -> ScaleTarget:
    """What ``--scale`` names; raises ``ConfigurationError``, also for one without a ceiling."""
    kind, _, rest = text.partition(":")
    if pods is not None and text != "none":
        raise refused(Fault("--pods", "goes with --scale none", pods))
    if kind != "none" and fleet.autoscaler.max_pods == math.inf:
        rule = (
            "is required for anything but --scale none: without a ceiling a retry storm orders pods for ever"
        )
        raise refused(Fault("--max-pods", rule, None))
    if text == "none":
        if pods is None or pods < 1:
            rule = "says how many pods --scale none takes to be there, at least 1 (none:URL asks a /scale)"
            raise refused(Fault("--pods", rule, pods))
        return FixedPods(pods)
    if kind == "none":
        return OnlyWatched(HttpScale(rest, within_s, allowed_hosts))
    if kind == "compose":
        if not _SERVICE.fullmatch(rest):
            raise refused(Fault("--scale", "must name a service after compose:", text))
        return ComposeScale(rest, compose_program(), where.compose())
    if kind == "kubectl":
        what, _, name = rest.partition("/")
        if what not in KINDS or not _OBJECT.fullmatch(name):
            rule = f"must be kubectl:KIND/NAME with a kind of {', '.join(KINDS)}"
            raise refused(Fault("--scale", rule, text))
        return KubectlScale(what, name, where.kubectl())
    if kind in ("http", "https"):
        return HttpScale(text, within_s, allowed_hosts)
    rule = "must be a URL, compose:SERVICE, kubectl:deployment/NAME or none"
    raise refused(Fault("--scale", rule, text))
