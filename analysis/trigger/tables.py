"""The tables of a trigger test as rows of text, for page and Markdown alike."""

from __future__ import annotations

from typing import NamedTuple

from analysis.report.settings import Row, client_rows
from analysis.trigger.result import Advice, Shot, TriggerResult
from analysis.trigger.words import SHORT_METHODS, interval_text, push_text, rescue_text, threshold_text
from analysis.wording import ABSENT, number, percent, seconds
from domain.request_mix import RequestTemplate
from domain.trigger.plan import TriggerPlan

LONGEST_BODY = 60
PUSH_PHASES = ("baseline", "spike", "watch")
"""The phases of which the utilization is said."""


class ShotRow(NamedTuple):
    """One push."""

    utilization: str
    dose: str
    verdict: str
    decided: str
    timeouts: str
    amplified_utilization: str
    amplification: str
    method: str
    rescue: str


class PhaseRow(NamedTuple):
    """One stretch of the test."""

    name: str
    start: str
    duration: str
    rate: str
    said: str


def shot_rows(plan: TriggerPlan, result: TriggerResult) -> list[ShotRow]:
    """Every push, in the order they were made."""
    return [_shot_row(shot, plan.client.timeout_s) for shot in result.shots]


def _shot_row(shot: Shot, timeout_s: float) -> ShotRow:
    decided = shot.decided_s
    return ShotRow(
        percent(shot.utilization),
        number(shot.dose),
        shot.verdict,
        seconds(decided),
        number(None if decided is None else decided / timeout_s),
        interval_text(shot.amplified_utilization),
        interval_text(shot.amplification),
        SHORT_METHODS[shot.method],
        rescue_text(shot),
    )


def advice_rows(result: TriggerResult) -> list[tuple[str, str, str]]:
    """What would change the finding, up to which utilization the service would come back then, and why."""
    return [_advice_row(advice) for advice in result.advice]


def _advice_row(advice: Advice) -> tuple[str, str, str]:
    if advice.threshold is not None and advice.threshold >= 1:
        return advice.change, "any below 100%", advice.why
    return advice.change, percent(advice.threshold), advice.why


def phase_rows(result: TriggerResult) -> list[PhaseRow]:
    """Every stretch of the test as it was; those of a push say at which utilization."""
    return [
        PhaseRow(
            name,
            number(phase.start_s),
            number(phase.end_s - phase.start_s),
            number(phase.rate_per_s) if phase.rate_per_s else ABSENT,
            phase.said,
        )
        for name, phase in zip(phase_names(result), result.phases, strict=True)
    ]


def phase_names(result: TriggerResult) -> list[str]:
    """As "watch at 34.4%": each phase, and the utilization of the push that it belongs to."""
    names, utilization = [], None
    for phase in result.phases:
        if phase.name == "baseline" and result.capacity_per_s is not None:
            utilization = phase.rate_per_s / result.capacity_per_s.value
        of_push = phase.name in PUSH_PHASES and utilization is not None
        names.append(f"{phase.name} at {percent(utilization)}" if of_push else phase.name)
    return names


def finding_rows(plan: TriggerPlan, result: TriggerResult) -> list[Row]:
    """The numbers of the finding."""
    own = number(result.client_amplification)
    rows: list[Row] = [
        ("capacity C, attempts/s", _capacity(result)),
        ("utilization ρ", percent(plan.utilization)),
        ("attempts of a failing request that the client makes", own),
    ]
    if result.shots:
        shot = result.shots[0]
        rows += [
            ("amplification A", interval_text(shot.amplification)),
            ("how A was measured", SHORT_METHODS[shot.method]),
            ("Aρ: from 1 on the backlog grows by itself", interval_text(shot.amplified_utilization)),
            ("time from the push to the verdict", _with_timeouts(shot.decided_s, plan.client.timeout_s)),
            ("time to recover", seconds(shot.recovered_s)),
            ("time to recover, predicted", seconds(shot.predicted_recovery_s)),
            ("longest wait seen", seconds(shot.deepest_wait_s)),
            ("rescue, until it answered again", rescue_text(shot)),
        ]
    rows += [
        ("highest utilization at which it comes back", threshold_text(result)),
        ("attempts sent in all", number(result.attempts_sent)),
        ("left healthy", {True: "yes", False: "NO", None: "not seen"}[result.left_healthy]),
    ]
    return [row for row in rows if row[1] != ABSENT]


def plan_rows(plan: TriggerPlan, result: TriggerResult) -> list[Row]:
    """What was asked for: target, push, probes."""
    target, probing = plan.target, plan.probing
    rows = [
        ("target", target.url + (f" (connected to {target.address})" if target.address else "")),
        ("utilization asked for", percent(plan.utilization)),
        ("push", f"{number(plan.dose)} timeouts of work in {push_text(plan, result)}"),
        ("confidence of the verdict", percent(plan.confidence)),
        ("longest watch", f"{number(plan.watch_timeouts)} timeouts"),
        ("longest rescue", seconds(plan.rescue_s)),
        ("patient probes", _probing(plan)),
        ("a probe's patience", seconds(probing.patience_s)),
        ("seed", str(plan.seed)),
    ]
    if target.ca_file:
        rows.insert(1, ("certificates trusted", target.ca_file))
    if plan.find_threshold:
        rows.append(("threshold", "bisected over several pushes"))
    if plan.locustfile:
        rows.append(("client sent by", plan.locustfile))
    return rows


def client_setting_rows(plan: TriggerPlan) -> list[Row]:
    """How the imitated client behaves."""
    return [("timeout T, per attempt", seconds(plan.client.timeout_s)), *client_rows(plan.client)]


def request_rows(plan: TriggerPlan) -> list[tuple[str, str, str, str]]:
    """Every kind of request: what, share, headers, body."""
    total = sum(request.weight for request in plan.mix.requests)
    return [
        (
            " ".join(
                filter(None, (request.method, request.path, f"({request.name})" if request.name else ""))
            ),
            percent(request.weight / total if total else None),
            "; ".join(f"{name}: {value}" for name, value in request.headers) or ABSENT,
            _body(request),
        )
        for request in plan.mix.requests
    ]


def success_text(plan: TriggerPlan) -> str:
    """What counts as an answer."""
    ranges = ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in plan.mix.success.statuses)
    match = plan.mix.success.body_match
    body = "" if match is None else f" and a body in which “{match}” is found"
    return f"Success is a status of {ranges}{body}, within {seconds(plan.client.timeout_s)}."


def guard_rows(plan: TriggerPlan) -> list[Row]:
    """What would have stopped the test."""
    ceiling, guards = plan.ceiling, plan.guards
    rows = [
        ("at most, attempts of any kind in a second", number(ceiling.rate_per_s)),
        ("at most, attempts in all", number(ceiling.attempts)),
        ("at most, the whole test", seconds(ceiling.duration_s)),
        ("attempts that may fail before the push", percent(guards.most_error_ratio)),
        ("a file that ends the test", guards.stop_file),
    ]
    if guards.allow_file:
        rows.append(("hosts other than loopback, allowed by", guards.allow_file))
    if guards.health_url:
        rows.append(
            ("bystander that must stay well", f"{guards.health_url}, for {seconds(guards.health_for_s)}")
        )
    for words, query in (("stop query", guards.stop_query), ("received query", guards.received_query)):
        if query:
            rows.append((words, f"{query} at {guards.prometheus}"))
    return rows


def _capacity(result: TriggerResult) -> str:
    text = interval_text(result.capacity_per_s)
    return f"{text}, given" if result.capacity_given and result.capacity_per_s else text


def _with_timeouts(time_s: float | None, timeout_s: float) -> str:
    return ABSENT if time_s is None else f"{seconds(time_s)} ({number(time_s / timeout_s)} timeouts)"


def _probing(plan: TriggerPlan) -> str:
    rate = plan.probing.rate_per_s
    text = "four a timeout, at most 3% of the capacity" if rate is None else f"{number(rate)} a second"
    return text + (f", to {plan.target.probe_url}" if plan.target.probe_url else "")


def _body(request: RequestTemplate) -> str:
    if not request.body:
        return ABSENT
    text = request.body.decode("utf-8", errors="replace")
    shown = text if len(text) <= LONGEST_BODY else text[: LONGEST_BODY - 1] + "…"
    return f"{shown} ({number(len(request.body))} bytes)"
