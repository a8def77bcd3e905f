"""What the signals read, from pages and from a Prometheus."""

from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.fleet import Fleet, Signal
from tests.tipover.autoscaling.fakes import FakePage, Time
from tipover.autoscaling.exposition import ATTEMPTS, BUSY, FIRST, POD_SECONDS, counters_in
from tipover.autoscaling.readings import (
    QueriedReadings,
    Reading,
    ScrapedReadings,
    Source,
    default_queries,
)

EVERY: tuple[Signal, ...] = ("cpu", "ingress", "first")
RATES: frozenset[Signal] = frozenset({"ingress", "first"})
FLEET = Fleet(EVERY)


def shown(at_s: float) -> dict[str, float]:
    """Three attempts a second, one of them a first one; half of four pods busy."""
    return {ATTEMPTS: 3 * at_s, FIRST: at_s, BUSY: 2 * at_s, POD_SECONDS: 4 * at_s}


def scraped(*pages: FakePage, fleet: Fleet = FLEET) -> ScrapedReadings:
    """Every signal from every page."""
    return ScrapedReadings([Source(page, frozenset(EVERY)) for page in pages], fleet, 5.0)


def looked(readings: ScrapedReadings, time: Time, *at_s: float) -> None:
    """At these times."""
    for moment_s in at_s:
        time.now_s = moment_s
        readings.look()


def values(readings: ScrapedReadings, at_s: float) -> list[float | None]:
    """As signals stand in the fleet, rounded."""
    return [None if r.value is None else round(r.value, 9) for r in readings.read(at_s).values()]


def test_rates_and_shares_are_sums_over_pages() -> None:
    time = Time()
    readings = scraped(FakePage(time, shown), FakePage(time, shown))
    looked(readings, time, 0.0, 5.0, 10.0, 15.0)
    assert values(readings, 15.0) == [0.5, 6.0, 2.0]


def test_windows_are_the_fleets() -> None:
    """CPU over 30 s, rates over 60 s, both ended 10 s ago: until 40 s nothing was sent."""

    def later(at_s: float) -> dict[str, float]:
        return {name: max(0.0, value) for name, value in shown(at_s - 40.0).items()} | {POD_SECONDS: at_s}

    time = Time()
    readings = scraped(FakePage(time, later), fleet=Fleet(EVERY, metric_lag_s=10.0))
    looked(readings, time, *(5.0 * tick for tick in range(16)))
    # CPU from 35 to 65 s: 2 · 25 over 30; rates from 5 to 65 s: 25 of 60
    assert values(readings, 75.0) == [round(50 / 30, 9), 3 * 25 / 60, round(25 / 60, 9)]


def test_a_partial_window_counts_from_the_first_scrape() -> None:
    time = Time()
    readings = scraped(FakePage(time, shown))
    looked(readings, time, 0.0)
    assert values(readings, 0.0) == [None, None, None]
    assert "not scraped for long enough" in readings.read(0.0)["cpu"].error
    looked(readings, time, 5.0)
    assert values(readings, 5.0) == [0.5, 3.0, 1.0]


def test_one_failed_scrape_is_bridged_and_two_are_an_error() -> None:
    time = Time()
    page = FakePage(time, shown)
    readings = scraped(page)
    looked(readings, time, 0.0, 5.0, 10.0)
    page.shown = None
    looked(readings, time, 15.0)
    assert values(readings, 15.0) == [0.5, 3.0, 1.0]
    looked(readings, time, 20.0)
    assert values(readings, 20.0) == [None, None, None]
    assert readings.read(20.0)["first"].error == "page: no answer within 1 s"
    page.shown = shown
    looked(readings, time, 25.0)
    assert values(readings, 25.0) == [0.5, 3.0, 1.0]


def test_one_page_of_two_in_error_is_an_error() -> None:
    """Half of the traffic would read as half of what there is."""
    time = Time()
    gone = FakePage(time, None, "other")
    readings = scraped(FakePage(time, shown), gone)
    looked(readings, time, 0.0, 5.0)
    assert values(readings, 5.0) == [None, None, None]
    assert readings.read(5.0)["cpu"].error == "other: no answer within 1 s"


def test_a_page_that_lacks_a_counter_adds_nothing_to_it() -> None:
    time = Time()
    edge = FakePage(time, lambda at_s: {ATTEMPTS: 10 * at_s, FIRST: 5 * at_s})
    pods = FakePage(time, lambda at_s: {BUSY: at_s, POD_SECONDS: 4 * at_s})
    readings = scraped(edge, pods)
    looked(readings, time, 0.0, 5.0)
    assert values(readings, 5.0) == [0.25, 10.0, 5.0]
    alone = scraped(edge)
    looked(alone, time, 0.0, 5.0)
    assert alone.read(5.0)["cpu"] == Reading(None, "no page shows busy seconds")


def test_a_page_may_be_for_some_signals_only() -> None:
    """The edge and the target both count attempts, and each attempt is one."""
    time = Time()
    sources = [
        Source(FakePage(time, lambda at_s: {ATTEMPTS: 9 * at_s, FIRST: 2 * at_s}), RATES),
        Source(FakePage(time, shown), frozenset({"cpu"})),
    ]
    readings = ScrapedReadings(sources, FLEET, 5.0)
    looked(readings, time, 0.0, 5.0)
    assert values(readings, 5.0) == [0.5, 9.0, 2.0]


def test_a_target_that_restarted_counts_from_nothing() -> None:
    time = Time()
    page = FakePage(time, shown)
    readings = scraped(page)
    looked(readings, time, 0.0, 5.0, 10.0)
    page.shown = lambda at_s: shown(at_s - 10.0)
    looked(readings, time, 15.0)
    assert values(readings, 15.0) == [0.5, 3.0, 1.0]


def test_no_pod_ready_in_the_whole_window_is_no_reading_of_cpu() -> None:
    time = Time()
    readings = scraped(FakePage(time, lambda at_s: shown(at_s) | {BUSY: 7.0, POD_SECONDS: 9.0}))
    looked(readings, time, 0.0, 5.0)
    assert readings.read(5.0)["cpu"] == Reading(None, "no pod was ready in the window")


def test_counters_of_no_service_there_is_are_an_error() -> None:
    """Counters that begin again near the largest float add up to infinity, which nothing can be made of."""
    time = Time()
    readings = scraped(FakePage(time, lambda at_s: dict.fromkeys(shown(0.0), 1.7e308 - 1e306 * at_s)))
    looked(readings, time, 0.0, 5.0, 10.0, 15.0)
    assert values(readings, 15.0) == [None, None, None]
    assert readings.read(15.0)["first"].error.startswith("the page gives ")


PAGE = """# TYPE tipover_attempts_total counter
tipover_attempts_total{attempt="first"} 30.0
tipover_attempts_total{attempt="retry"} 12.0
tipover_busy_seconds_total 7.5
tipover_pod_seconds_total 40.25
tipover_attempts_created 1.0
tipover_route_attempts_total{attempt="first",route="/a"} 99.0
go_goroutines 8
"""


def test_counters_are_found_in_a_page() -> None:
    assert counters_in(PAGE) == {ATTEMPTS: 42.0, FIRST: 30.0, BUSY: 7.5, POD_SECONDS: 40.25}
    assert counters_in("other 1\n") == {}


@pytest.mark.parametrize(
    "text",
    [
        "<html>not found</html>",
        '{"a": 1}',
        "tipover_attempts_total{",
        "tipover_attempts_total",
        'tipover_attempts_total{attempt="first" 3',
        "tipover_attempts_total NaN",
        "tipover_attempts_total +Inf",
        "tipover_attempts_total -3",
        "tipover_attempts_total three",
        "\x00\x01",
    ],
)
def test_what_is_no_page_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        counters_in(text)


@given(st.text(st.sampled_from(list('abc_total{}=",\\# 1e9+-NaI\n\t')) | st.characters()))
def test_any_text_is_a_page_or_is_none(text: str) -> None:
    """With a name in front that is wanted, so that it is not just skipped."""
    for page in (text, "tipover_attempts_total" + text, 'tipover_attempts_total{attempt="first"' + text):
        with contextlib.suppress(ValueError):
            assert all(value >= 0 for value in counters_in(page).values())


class Answers:
    """A Prometheus that gives these values by query."""

    def __init__(self, values: dict[str, Reading]) -> None:
        self.values = values

    def read(self, query: str) -> Reading:
        return self.values[query]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.5, 1e300])
def test_queries_give_numbers_or_errors(value: float) -> None:
    answers = Answers({"a": Reading(3.5), "b": Reading(value), "c": Reading(None, "an empty vector")})
    readings = QueriedReadings(answers, {"cpu": "a", "ingress": "b", "first": "c"})
    readings.look()
    read = readings.read(99.0)
    assert read["cpu"] == Reading(3.5)
    assert read["ingress"] == Reading(None, f"the query gives {value:g}")
    assert read["first"] == Reading(None, "an empty vector")


def test_default_queries_have_the_windows_of_the_fleet() -> None:
    queries = default_queries(Fleet(EVERY, cpu_window_s=30.0, rate_window_s=6.25, metric_lag_s=15.0))
    assert queries == {
        "cpu": "sum(rate(tipover_busy_seconds_total[30s] offset 15s))"
        " / sum(rate(tipover_pod_seconds_total[30s] offset 15s))",
        "ingress": "sum(rate(tipover_attempts_total[6250ms] offset 15s))",
        "first": 'sum(rate(tipover_attempts_total{attempt="first"}[6250ms] offset 15s))',
    }
    assert default_queries(Fleet(("ingress",))) == {"ingress": "sum(rate(tipover_attempts_total[60s]))"}
