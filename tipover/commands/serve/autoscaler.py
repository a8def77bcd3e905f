"""``tipover serve autoscaler``: how many pods there are, decided as Kubernetes' HPA does."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from domain.errors import ConfigurationError, ExitCode, Fault

if TYPE_CHECKING:
    from domain.fleet import Fleet
    from tipover.autoscaling.decision import Decision

_SHORT = {
    "unlimited": {"kind": "unlimited"},
    "doubling": {"kind": "doubling"},
    "policies": {"kind": "policies"},
}
_FARTHEST_EPOCH_S = 1e9


def serve_autoscaler(
    scale: Annotated[
        str,
        typer.Option(
            "--scale",
            metavar="TARGET",
            help="Whom to order from: a target's /scale URL, compose:SERVICE, kubectl:deployment/NAME, "
            "none, or none:URL to watch a /scale and order nothing.",
        ),
    ],
    rate_per_pod: Annotated[float, typer.Option("--rate-per-pod", help="Attempts/s that one pod serves.")],
    signals: Annotated[
        str | None,
        typer.Option("--signals", help="Of cpu, ingress, first; the largest wins.", show_default="cpu"),
    ] = None,
    scrape: Annotated[
        list[str] | None,
        typer.Option(
            "--scrape",
            metavar="[SIGNALS=]URL",
            help="A /metrics page to read them from; repeatable, counters are summed.",
        ),
    ] = None,
    prometheus: Annotated[
        str | None, typer.Option("--prometheus", metavar="URL", help="Or a Prometheus to ask.")
    ] = None,
    query: Annotated[
        list[str] | None,
        typer.Option("--query", metavar="SIGNAL=PROMQL", help="The query for a signal; repeatable."),
    ] = None,
    target_utilization: Annotated[
        float | None,
        typer.Option("--target-utilization", show_default="0.5", help="What a pod is meant for."),
    ] = None,
    sync_period: Annotated[
        float | None, typer.Option("--sync-period", show_default="15", help="Seconds between decisions.")
    ] = None,
    dead_time_hint: Annotated[
        float | None,
        typer.Option(
            "--dead-time-hint",
            show_default="90",
            help="Seconds that a pod takes to start; decides nothing, only part of the description.",
        ),
    ] = None,
    min_pods: Annotated[int | None, typer.Option("--min-pods", show_default="1", help="The floor.")] = None,
    max_pods: Annotated[
        int | None, typer.Option("--max-pods", help="The ceiling; required unless --scale is none.")
    ] = None,
    stabilization: Annotated[
        float | None,
        typer.Option(
            "--stabilization",
            show_default="300",
            help="A scale-down goes no lower than the largest wish of so many seconds.",
        ),
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option("--tolerance", show_default="0.1", help="Deviations that change nothing.")
    ] = None,
    cpu_window: Annotated[
        float | None, typer.Option("--cpu-window", show_default="30", help="Seconds CPU is averaged over.")
    ] = None,
    rate_window: Annotated[
        float | None,
        typer.Option("--rate-window", show_default="60", help="Seconds rates are averaged over."),
    ] = None,
    metric_lag: Annotated[
        float | None,
        typer.Option("--metric-lag", show_default="0", help="How old what it reads is; seconds."),
    ] = None,
    limit_over_request: Annotated[
        float | None,
        typer.Option(
            "--limit-over-request", show_default="1", help="What a saturated pod uses of its request."
        ),
    ] = None,
    scale_up: Annotated[
        str | None,
        typer.Option(
            "--scale-up",
            metavar="KIND|JSON",
            show_default="unlimited",
            help="What one decision may add: unlimited, doubling, policies, or such a limit as JSON.",
        ),
    ] = None,
    fleet: Annotated[
        str | None,
        typer.Option("--fleet", metavar="JSON", help="All of these at once, as in an experiment's JSON."),
    ] = None,
    pods: Annotated[
        int | None, typer.Option("--pods", help="With --scale none: how many pods there are.")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="HOST", help="A host beyond loopback whose /scale may be used."),
    ] = None,
    compose_file: Annotated[
        list[str] | None,
        typer.Option("--compose-file", metavar="FILE", help="With compose:SERVICE; repeatable."),
    ] = None,
    project_directory: Annotated[
        str | None, typer.Option("--project-directory", metavar="DIR", help="With compose:SERVICE.")
    ] = None,
    project_name: Annotated[
        str | None, typer.Option("--project-name", metavar="NAME", help="With compose:SERVICE.")
    ] = None,
    namespace: Annotated[str | None, typer.Option("--namespace", help="With kubectl:…")] = None,
    context: Annotated[str | None, typer.Option("--context", help="With kubectl:…")] = None,
    epoch: Annotated[
        float | None,
        typer.Option(
            "--epoch",
            metavar="MONOTONIC_S",
            help="Decisions fall on this time of the monotonic clock and whole sync periods after it.",
            show_default="now",
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Decide once, print the decision, exit.")] = False,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="Append decisions as lines of JSON.")
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port of /metrics and /healthz; 0 for any.")] = 8083,
    announce: Annotated[
        bool,
        typer.Option(
            "--announce",
            "--json",
            help="Say where it listens as a line of JSON; with --once, answer in JSON.",
        ),
    ] = False,
    stop_with_stdin: Annotated[
        bool, typer.Option("--stop-with-stdin", help="Stop when standard input ends.", hidden=True)
    ] = False,
) -> int:
    """Order as many pods as Kubernetes' HPA would.

    It decides every sync period, from what it scrapes or asks a Prometheus; see docs/autoscaler.md.
    """
    import time

    from tipover.autoscaling.agenda import Agenda, looks_per_sync
    from tipover.autoscaling.controller import Controller
    from tipover.autoscaling.loop import Loop, end_on_signals
    from tipover.autoscaling.places import since
    from tipover.autoscaling.record import DecisionCollector, DecisionLog
    from tipover.autoscaling.setup import Where, readings_from, target_from, wait_s

    rules = _fleet(
        fleet,
        {
            "signals": signals,
            "target_utilization": target_utilization,
            "sync_period_s": sync_period,
            "dead_time_s": dead_time_hint,
            "metric_lag_s": metric_lag,
            "cpu_window_s": cpu_window,
            "rate_window_s": rate_window,
            "limit_over_request": limit_over_request,
            "tolerance": tolerance,
        },
        {"min_pods": min_pods, "max_pods": max_pods, "stabilization_s": stabilization, "scale_up": scale_up},
    )
    if not 0.0 < rate_per_pod < math.inf:
        raise _refused(Fault("--rate-per-pod", "must be positive and finite", rate_per_pod))
    began_s = time.monotonic()
    if epoch is not None:
        if not abs(epoch - began_s) < _FARTHEST_EPOCH_S:
            rule = f"must be a time of the monotonic clock, where it is {began_s:.0f} now"
            raise _refused(Fault("--epoch", rule, epoch))
        began_s = epoch
    if not 0 <= port <= 65535:
        raise _refused(Fault("--port", "must be a port number from 0 to 65535", port))
    now, looks = since(began_s), looks_per_sync(rules)
    readings = readings_from(rules, scrape or [], prometheus, query or [], looks=looks, now=now)
    target = target_from(
        scale,
        rules,
        pods=pods,
        within_s=wait_s(rules, looks),
        allowed_hosts=allow_host or [],
        where=Where(tuple(compose_file or ()), project_directory, project_name, namespace, context),
    )
    controller = Controller(rules, rate_per_pod, readings, target, now=now)
    shown = not once and (log is None or sys.stderr.isatty())
    decision_log, collector = DecisionLog(log, shown=shown), DecisionCollector()
    answers: list[Decision] = []

    def told(decision: Decision) -> None:
        decision_log(decision)
        collector(decision)
        if once:
            answers.append(decision)

    if stop_with_stdin:
        from tipover.commands.serve.stopping import stop_with_stdin as begin

        begin()
    loop = Loop(Agenda(began_s, rules.sync_period_s), looks, readings, controller, told)
    with end_on_signals() as ended:
        if once:
            loop.run(ended, decisions=1, at_once=not readings.needs_looks)
        else:
            page = _page(collector, host, port, announce, f"{target.name}, {', '.join(rules.signals)}")
            try:
                loop.run(ended)
            finally:
                page.close()
    for decision in answers:
        print(json.dumps(decision.to_json()) if announce else decision.words())
    if not once:
        return ExitCode.CONFIRMED
    if not answers:
        return ExitCode.INTERRUPTED
    return ExitCode.INVALID_RUN if answers[0].error is not None else ExitCode.CONFIRMED


def _page(collector: Any, host: str, port: int, announce: bool, what: str) -> Any:
    """The page of metrics, and where it is."""
    from prometheus_client import CollectorRegistry

    from meter.exporter import BuildInfoCollector
    from meter.page_server import MetricsServer
    from tipover.version import VERSION

    registry = CollectorRegistry()
    registry.register(BuildInfoCollector(VERSION))
    registry.register(collector)
    healthy = (200, "text/plain; charset=utf-8", b"ok\n")
    page = MetricsServer(registry, host, port, {"/healthz": lambda: healthy})
    url = f"http://{f'[{host}]' if ':' in host else host}:{page.port}"
    if announce:
        print(json.dumps({"url": url}), flush=True)
    else:
        print(f"{url}/metrics  ({what})", file=sys.stderr)
    return page


def _fleet(text: str | None, own: dict[str, Any], rules: dict[str, Any]) -> Fleet:
    """The fleet, from one option that has all of it or from those that are given (not None)."""
    from domain.experiment_json import fleet_from_json

    given = {name: value for name, value in own.items() if value is not None}
    given_rules = {name: value for name, value in rules.items() if value is not None}
    if text is not None:
        if given or given_rules:
            named = ", ".join(map(_option, [*given, *given_rules]))
            raise _refused(Fault("--fleet", f"has all of it; do not give {named} besides", None))
        return fleet_from_json(_json("--fleet", text))
    given["signals"] = [word.strip() for word in given.get("signals", "cpu").split(",")]
    if "scale_up" in given_rules:
        limit = given_rules["scale_up"]
        given_rules["scale_up"] = _SHORT.get(limit) or _json("--scale-up", limit)
    try:
        return fleet_from_json({**given, "autoscaler": given_rules})
    except ConfigurationError as error:
        raise _refused(*map(_of_option, error.faults)) from None


def _json(option: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        rule = "must be JSON" + ("" if option == "--fleet" else f", or one of {', '.join(_SHORT)}")
        raise _refused(Fault(option, rule, text)) from None


def _option(name: str) -> str:
    words = {"dead_time_s": "dead-time-hint"}.get(name, name.removesuffix("_s").replace("_", "-"))
    return f"--{words}"


def _of_option(fault: Fault) -> Fault:
    """The fault in the words of whoever gave options: ``fleet.autoscaler.min_pods`` is ``--min-pods``."""
    place = [part.partition("[")[0] for part in fault.field.split(".") if part not in ("fleet", "autoscaler")]
    rule = fault.rule
    if not place and ": " in rule:  # a value of the domain, which names its own field
        name, rule = rule.split(": ", 1)
        place = [name]
    if not place:
        return fault
    inner = "".join(f"{part}: " for part in place[1:])
    return Fault(_option(place[0]), inner + rule, fault.value)


def _refused(*faults: Fault) -> ConfigurationError:
    return ConfigurationError("the autoscaler cannot be started", faults)
