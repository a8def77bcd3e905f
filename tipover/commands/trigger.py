"""``tipover trigger``: has a service that nobody here wrote a second, failed state?"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from domain.errors import ConfigurationError, ExitCode, Fault
from tipover.commands.grouped import GroupedCommand
from tipover.commands.options import JsonOption

if TYPE_CHECKING:
    from analysis.trigger.result_json import TriggerRecord
    from domain.trigger.plan import TriggerPlan
    from tipover.requests.secrets import Secrets
    from tipover.trigger.plan_faults import Setting
    from tipover.trigger.plan_requests import RequestOptions

REQUEST, CLIENT, PUSH = "What is sent", "The client to imitate", "How far the service is pushed"
PROBES, GUARDS, ANSWER = "What it is watched by", "What keeps it safe", "What is answered"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("trigger", cls=GroupedCommand)(trigger)


def _option(group: str, help_text: str, *names: str) -> Any:
    return typer.Option(*names, help=help_text, rich_help_panel=group, show_default=False)


def _number(kind: type[float] | type[int], group: str, help_text: str, *names: str) -> Any:
    """An option with a number. What is none stays text, which the plan's tables refuse: under the option,
    in their words and with all other faults."""

    def number_or_text(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            return text

    return typer.Option(
        *names,
        help=help_text,
        rich_help_panel=group,
        show_default=False,
        parser=number_or_text,
        metavar=f"<{kind.__name__}>",
    )


def trigger(
    plan: Annotated[
        Path | None,
        typer.Argument(metavar="[PLAN.toml]", help="A plan file; options win over it.", show_default=False),
    ] = None,
    url: Annotated[str | None, _option(REQUEST, "Where the load goes.", "--url")] = None,
    method: Annotated[
        str | None, _option(REQUEST, "Its method.  [default: GET, or POST with --body]", "--method", "-X")
    ] = None,
    path: Annotated[str | None, _option(REQUEST, "Path and query.  [default: /]", "--path")] = None,
    header: Annotated[
        list[str] | None,
        _option(REQUEST, "'Name: value', of every request; ${NAME} for a secret.", "--header", "-H"),
    ] = None,
    body: Annotated[str | None, _option(REQUEST, "Text, or @FILE.", "--body")] = None,
    curl: Annotated[str | None, _option(REQUEST, "A curl command line instead.", "--curl")] = None,
    har: Annotated[Path | None, _option(REQUEST, "The requests of a HAR file instead.", "--har")] = None,
    openapi: Annotated[
        Path | None, _option(REQUEST, "Those of an OpenAPI document instead.", "--openapi")
    ] = None,
    operation: Annotated[
        list[str] | None, _option(REQUEST, "An operation of it, by its operationId.", "--operation")
    ] = None,
    allow_writes: Annotated[
        bool, _option(REQUEST, "Let requests of a file pass that may change something.", "--allow-writes")
    ] = False,
    success: Annotated[
        list[str] | None, _option(REQUEST, "Statuses: 2xx, 200-204, 418.  [default: 2xx 3xx]", "--success")
    ] = None,
    body_match: Annotated[
        str | None, _option(REQUEST, "Expression to find in the answer.", "--body-match")
    ] = None,
    ca_file: Annotated[Path | None, _option(REQUEST, "Certificates to trust instead.", "--ca-file")] = None,
    timeout: Annotated[
        float | None, _number(float, CLIENT, "Seconds for an attempt.  [default: 1]", "--timeout")
    ] = None,
    attempts: Annotated[
        str | None, _option(CLIENT, "Attempts of a job, first included, or inf.  [default: 3]", "--attempts")
    ] = None,
    backoff: Annotated[
        str | None, _option(CLIENT, "none, fixed, exponential, full-jitter, …  [default: none]", "--backoff")
    ] = None,
    backoff_base: Annotated[
        float | None, _number(float, CLIENT, "Seconds of the first wait.", "--backoff-base")
    ] = None,
    backoff_cap: Annotated[
        float | None, _number(float, CLIENT, "Seconds of the longest wait.", "--backoff-cap")
    ] = None,
    budget: Annotated[
        float | None, _number(float, CLIENT, "Retries earned by a first attempt: 0.1 for 10%.", "--budget")
    ] = None,
    preset: Annotated[
        str | None, _option(CLIENT, "A deployed client (`tipover list --presets`).", "--preset")
    ] = None,
    locustfile: Annotated[
        Path | None, _option(CLIENT, "Your own user class instead.", "--locustfile")
    ] = None,
    utilization: Annotated[
        float | None, _number(float, PUSH, "First attempts over capacity.  [default: 0.5]", "--utilization")
    ] = None,
    capacity: Annotated[
        float | None, _number(float, PUSH, "Attempts/s.  [default: found]", "--capacity")
    ] = None,
    dose: Annotated[
        float | None, _number(float, PUSH, "Queue the spike leaves, in timeouts.  [default: 2]", "--dose")
    ] = None,
    find_threshold: Annotated[
        bool, _option(PUSH, "Look for the highest utilization it comes back from.", "--find-threshold")
    ] = False,
    seed: Annotated[int | None, _number(int, PUSH, "Seed of the random streams.", "--seed")] = None,
    probe_url: Annotated[
        str | None, _option(PROBES, "Where patient probes go, past a gateway.", "--probe-url")
    ] = None,
    probe_rate: Annotated[
        float | None,
        _number(float, PROBES, "Probes/s.  [default: four a timeout, at most 3%]", "--probe-rate"),
    ] = None,
    patience: Annotated[
        float | None, _number(float, PROBES, "Seconds a probe waits.  [default: 60]", "--patience")
    ] = None,
    prometheus: Annotated[str | None, _option(PROBES, "A Prometheus that knows it.", "--prometheus")] = None,
    received: Annotated[
        str | None, _option(PROBES, "Query: a counter of what the service received.", "--received")
    ] = None,
    stop_query: Annotated[
        str | None, _option(GUARDS, "Query: above 0, or nothing, stops.", "--stop-query")
    ] = None,
    health_url: Annotated[
        str | None, _option(GUARDS, "A bystander that must stay well.", "--health-url")
    ] = None,
    max_rate: Annotated[
        float | None, _number(float, GUARDS, "Attempts in any second.  [default: 5000]", "--max-rate")
    ] = None,
    max_attempts_total: Annotated[
        int | None, _number(int, GUARDS, "Attempts in all.  [default: 200000]", "--max-attempts-total")
    ] = None,
    max_duration: Annotated[
        float | None, _number(float, GUARDS, "Seconds, rescue included.  [default: 600]", "--max-duration")
    ] = None,
    allow_file: Annotated[
        Path | None,
        _option(GUARDS, "Hosts that may be loaded.  [default: tipover-allow.toml]", "--allow-file"),
    ] = None,
    yes: Annotated[
        bool, _option(GUARDS, "Do not ask; the host needs its entry all the same.", "--yes")
    ] = False,
    max_utilization: Annotated[
        float | None,
        _number(float, ANSWER, "Fail unless it comes back at least up to this.", "--max-utilization"),
    ] = None,
    max_amplification: Annotated[
        float | None, _number(float, ANSWER, "Fail if the measured A is above.", "--max-amplification")
    ] = None,
    max_recovery: Annotated[
        float | None, _number(float, ANSWER, "Fail if it takes more seconds to come back.", "--max-recovery")
    ] = None,
    expect_verdict: Annotated[
        list[str] | None,
        _option(ANSWER, "Fail unless it is this (or another one given).", "--expect-verdict"),
    ] = None,
    against: Annotated[
        Path | None, _option(ANSWER, "An earlier trigger.json to compare with.", "--against")
    ] = None,
    out: Annotated[
        Path | None, _option(ANSWER, "Directory to make.  [default: runs/NAME-TIME]", "--out")
    ] = None,
    replace_run: Annotated[bool, _option(ANSWER, "Replace the run that --out holds.", "--replace")] = False,
    dry_run: Annotated[
        bool, _option(ANSWER, "Show the plan and what it predicts; send nothing.", "--dry-run")
    ] = False,
    as_json: JsonOption = False,
) -> ExitCode:
    """Push a service once and say whether it gets up again by itself.

    Finds the capacity, overloads the service for one timeout, goes back to normal load and watches; if it
    does not come back, the load is taken away until it is healthy again. Only loopback is loaded unless
    --allow-file allows the host.
    """
    given = locals()
    from tipover.commands.trigger_settings import request_options, settings_of
    from tipover.requests.secrets import Secrets

    secrets, request = Secrets(), request_options(given)
    asked, warnings = _plan(plan, settings_of(given, request), request, secrets, yes=yes)
    return _run(asked, secrets, warnings, given)


def _plan(
    file: Path | None,
    settings: list[Setting],
    request: RequestOptions,
    secrets: Secrets,
    *,
    yes: bool,
) -> tuple[TriggerPlan, tuple[str, ...]]:
    """The plan that file and options make, and what is to be said of its requests."""
    from tipover.trigger.plan_faults import Setting
    from tipover.trigger.plan_file import load_plan
    from tipover.trigger.plan_requests import changed, imported, untyped_json

    source = imported(request, secrets)
    if source is not None and request.url is None and file is None:
        option = request.sources[0]
        if source.base_url is None:
            fault = Fault("--url", f"is required: what {option} gives does not say where it goes", None)
            raise ConfigurationError("the trigger test cannot be started; nothing was sent", [fault])
        settings = [*settings, Setting(option, ("target", "url"), source.base_url)]
    plan = load_plan(file, settings, requests=None if source is None else source.requests, yes=yes)
    plan = replace(plan, mix=changed(plan.mix, request, secrets))
    return plan, (*(() if source is None else source.warnings), *untyped_json(plan.mix))


def _run(plan: TriggerPlan, secrets: Secrets, warnings: tuple[str, ...], given: dict[str, Any]) -> ExitCode:
    from tipover.requests.secrets import missing_variables

    # Before anything is sent, and before --replace empties what may be the same directory.
    earlier = _earlier(given["against"])
    missing = missing_variables(plan.mix, {**os.environ, **secrets.environment()})
    if missing:
        raise ConfigurationError("the requests need what is not there; nothing was sent", missing)
    if given["dry_run"]:
        _refuse_as_a_run(plan, given["out"], replace=given["replace_run"])
        return _show(plan, warnings, as_json=given["as_json"])

    from tipover.commands.output import error_console
    from tipover.live.record import default_directory
    from tipover.trigger.publishing import publish
    from tipover.trigger.undertaking import run_trigger

    screen = error_console()
    for warning in warnings:
        screen.print(f"warning: {warning}", style="yellow")
    directory = given["out"] or default_directory(plan.name)
    result = run_trigger(plan, directory, secrets.environment(), replace=given["replace_run"], screen=screen)
    return publish(directory, plan, result, against=earlier, as_json=given["as_json"], screen=screen)


def _earlier(place: Path | None) -> TriggerRecord | None:
    """What is compared with; raises ``ConfigurationError`` if it cannot be read."""
    if place is None:
        return None
    from analysis.trigger.result_json import read_record

    try:
        return read_record(place)
    except ConfigurationError as error:
        fault = Fault("--against", f"must be an earlier trigger.json, or its directory: {error}", str(place))
        raise ConfigurationError("the trigger test cannot be started; nothing was sent", [fault]) from error


def _refuse_as_a_run(plan: TriggerPlan, out: Path | None, *, replace: bool) -> None:
    """Raise ``ConfigurationError`` for what is here and would keep the test from starting."""
    from tipover.live.record import refuse_unless_free
    from tipover.trigger.guards.stop_file import StopFile

    StopFile(Path(plan.guards.stop_file)).refuse_if_present()
    if out is not None:
        refuse_unless_free(out, replace=replace)
        if out.is_dir():
            StopFile(out / "STOP").refuse_if_present()


def _show(plan: TriggerPlan, warnings: tuple[str, ...], *, as_json: bool) -> ExitCode:
    """The dry run: names are resolved, nothing is sent and nothing is written."""
    from tipover.commands.output import console, print_json
    from tipover.trigger.dry_run import dry_run, placed
    from tipover.trigger.dry_run_words import dry_run_json, dry_run_text

    plan, _ = placed(plan, connect=False)
    shown = dry_run(plan, warnings)
    if as_json:
        print_json({**dry_run_json(shown), "exit_code": int(ExitCode.CONFIRMED)})
    else:
        console().print(dry_run_text(shown) + "\n\nNothing was sent.", soft_wrap=True)
    return ExitCode.CONFIRMED
