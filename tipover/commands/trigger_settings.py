"""What the options of ``tipover trigger`` mean: requests, and values in their places of a plan file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from domain.errors import ConfigurationError, Fault
from tipover.trigger.plan_faults import Setting
from tipover.trigger.plan_requests import RequestOptions

_PLACES = {
    "--url": "target.url",
    "--ca-file": "target.ca_file",
    "--probe-url": "target.probe_url",
    "--body-match": "success.body_match",
    "--timeout": "client.timeout_s",
    "--attempts": "client.max_attempts",
    "--preset": "client.preset",
    "--locustfile": "test.locustfile",
    "--utilization": "test.utilization",
    "--capacity": "test.capacity_per_s",
    "--dose": "test.dose",
    "--find-threshold": "test.find_threshold",
    "--seed": "test.seed",
    "--probe-rate": "probes.rate_per_s",
    "--patience": "probes.patience_s",
    "--prometheus": "probes.prometheus",
    "--received": "probes.received",
    "--stop-query": "guards.stop_query",
    "--health-url": "guards.health_url",
    "--allow-file": "guards.allow_file",
    "--max-rate": "limits.rate_per_s",
    "--max-attempts-total": "limits.attempts",
    "--max-duration": "limits.duration_s",
    "--max-utilization": "assert.min_threshold",
    "--max-amplification": "assert.max_amplification",
    "--max-recovery": "assert.max_recovery_s",
}
"""Where in a plan file an option's value stands."""


def request_options(given: Mapping[str, Any]) -> RequestOptions:
    """The options that say what is sent; ``given`` are all, by the names of their parameters. Raises
    ``ConfigurationError`` if they contradict each other, or nothing says where to go."""
    options = RequestOptions(
        url=given["url"],
        method=given["method"],
        path=given["path"],
        headers=tuple(given["header"] or ()),
        body=given["body"],
        curl=given["curl"],
        har=given["har"],
        openapi=given["openapi"],
        operations=tuple(given["operation"] or ()),
        allow_writes=given["allow_writes"],
    )
    faults = list(options.faults)
    for option in ("har", "openapi"):
        if given[option] is not None and not given[option].is_file():
            faults.append(Fault(f"--{option}", "must be a file", str(given[option])))
    against = given["against"]
    if against is not None and not against.exists():
        faults.append(Fault("--against", "must be an earlier trigger.json, or its directory", str(against)))
    if given["plan"] is None and not options.url and not options.sources:
        faults.append(Fault("--url", "is required, or a plan file that has a [target]", None))
    if faults:
        raise ConfigurationError("the trigger test cannot be started; nothing was sent", faults)
    return options.with_path_of_url() if given["plan"] is None else options


def settings_of(given: Mapping[str, Any], request: RequestOptions) -> list[Setting]:
    """The options that stand for a value of the plan file, each with its place there."""
    values = {**given, "url": request.url, "find_threshold": given["find_threshold"] or None}
    settings = []
    for option, place in _PLACES.items():
        value = values[option.removeprefix("--").replace("-", "_")]
        if option == "--attempts":
            value = _attempts(value)
        if value is not None:
            plain = str(value) if isinstance(value, Path) else value
            settings.append(Setting(option, tuple(place.split(".")), plain))
    settings += [Setting(*setting) for setting in _tables(given)]
    return settings


def _attempts(text: str | None) -> object:
    """A whole number or infinity; anything else stays text, which the client's table refuses."""
    if text is None or text == "inf":
        return None if text is None else float(text)
    return int(text) if text.isascii() and text.removeprefix("-").isdigit() else text


def _tables(given: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...], object]]:
    """Options that make a whole table, or a list, of the plan file."""
    kind, base, cap = given["backoff"], given["backoff_base"], given["backoff_cap"]
    if kind is None and (base is not None or cap is not None):
        kind = "exponential"
    if kind is not None:
        yield "--backoff", ("client", "backoff"), {}
        yield "--backoff", ("client", "backoff", "kind"), kind
        for option, key, value in (
            ("--backoff-base", "fixed_s" if kind == "fixed" else "base_s", base),
            ("--backoff-cap", "cap_s", cap),
        ):
            if value is not None:
                yield option, ("client", "backoff", key), value
    if given["budget"] is not None:
        yield "--budget", ("client", "budget"), {"kind": "ratio"}
        yield "--budget", ("client", "budget", "ratio"), given["budget"]
    if given["success"]:
        yield "--success", ("success", "statuses"), given["success"]
    if given["expect_verdict"]:
        yield "--expect-verdict", ("assert", "verdict"), given["expect_verdict"]
