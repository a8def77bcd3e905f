"""What a service lets in, and what it may be told to do."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.compiled import compiled_rule
from domain.admission import ADMITTED, FULL, INSTEAD_OF_RETRY, OVER_LIMIT, REASONS, Admission, verdict
from domain.codel import CoDel
from domain.degradation import Degradation
from domain.hedging import Hedging
from domain.limits.aimd import AimdLimit
from domain.queue_order import ADAPTIVE_LIFO, CODES, FIFO, LIFO, takes_newest

PODS = 2


def asked(waiting: int, running: int, places: int, limit: float, displaces: bool = False) -> int:
    """The verdict on one more arrival at a service of two pods; the compiled rule says the same."""
    arguments = (waiting + running, waiting, running, PODS, places, limit, displaces)
    found = verdict(*arguments)
    assert compiled_rule(verdict)(*arguments) == found
    return found


@pytest.mark.parametrize(
    ("waiting", "running", "places", "limit", "found"),
    [
        # neither a cap nor a limit
        (0, 0, -1, math.inf, ADMITTED),
        (10**6, 2, -1, math.inf, ADMITTED),
        # a cap alone
        (0, 0, 3, math.inf, ADMITTED),
        (2, 2, 3, math.inf, ADMITTED),
        (3, 2, 3, math.inf, FULL),
        (4, 2, 3, math.inf, FULL),
        (3, 1, 3, math.inf, ADMITTED),  # a pod is free: it takes no place
        (0, 1, 0, math.inf, ADMITTED),  # no places: only what is served at once
        (0, 2, 0, math.inf, FULL),
        # a limit alone
        (0, 0, -1, 1.0, ADMITTED),
        (0, 1, -1, 1.0, OVER_LIMIT),
        (17, 2, -1, 20.0, ADMITTED),
        (18, 2, -1, 20.0, OVER_LIMIT),
        (17, 2, -1, 20.9, ADMITTED),
        (18, 2, -1, 20.9, OVER_LIMIT),
        # both: the limit is told first
        (3, 2, 3, 6.0, FULL),
        (3, 2, 3, 5.0, OVER_LIMIT),
        (2, 2, 3, 4.0, OVER_LIMIT),
        (2, 2, 3, 5.0, ADMITTED),
    ],
)
def test_what_is_let_in(waiting: int, running: int, places: int, limit: float, found: int) -> None:
    """With and without a retry to displace: whoever is let in displaces nobody, whoever is not does."""
    assert asked(waiting, running, places, limit) == found
    displacing = ADMITTED if found == ADMITTED else INSTEAD_OF_RETRY
    assert asked(waiting, running, places, limit, displaces=True) == displacing


@given(in_system=st.integers(0, 1000), limit=st.floats(1, 1000))
def test_a_limit_between_two_numbers_is_the_lower(in_system: int, limit: float) -> None:
    """As in the sources, which cut the limit to a whole number: admitted iff in_system < ⌊L⌋."""
    found = verdict(in_system, in_system, 0, PODS, -1, limit, False)
    assert (found == ADMITTED) == (in_system < int(limit))


def test_every_refusal_has_a_reason() -> None:
    """One for each verdict, none for being admitted."""
    assert [REASONS[code] for code in (ADMITTED, OVER_LIMIT, FULL, INSTEAD_OF_RETRY)] == [
        "",
        "limit",
        "full",
        "first-before-retry",
    ]


@pytest.mark.parametrize(
    ("order", "waiting", "standing", "newest"),
    [
        (FIFO, 10**6, 0, False),
        (LIFO, 1, 10**6, True),
        (ADAPTIVE_LIFO, 4, 4, False),
        (ADAPTIVE_LIFO, 5, 4, True),
        (ADAPTIVE_LIFO, 1, 0, True),
    ],
)
def test_who_is_next(order: int, waiting: int, standing: int, newest: bool) -> None:
    """An adaptive queue turns round when more than ``standing`` wait."""
    assert takes_newest(order, waiting, standing) is newest
    assert compiled_rule(takes_newest)(order, waiting, standing) == newest


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Admission(discipline="random"), "discipline"),  # type: ignore[arg-type]
        (lambda: Admission(standing=-1), "standing"),
        (lambda: Admission(queue_cap=-1), "queue_cap"),
        (lambda: Admission(queue_cap=1.5), "queue_cap"),  # type: ignore[arg-type]
        (lambda: Admission(queue_cap=math.nan), "queue_cap"),  # type: ignore[arg-type]
        (lambda: Admission(queue_cap=math.inf), "queue_cap"),  # type: ignore[arg-type]
        (lambda: Admission(least_s=-0.1), "least_s"),
        (lambda: Admission(least_s=math.inf), "least_s"),
        (lambda: Admission(retry_after_s=-1.0), "retry_after_s"),
        (lambda: Admission(retry_after_s=math.nan), "retry_after_s"),
        (lambda: Admission(error_rate=-0.1), "error_rate"),
        (lambda: Admission(error_rate=1.0), "error_rate"),
        (lambda: Admission(error_rate=math.nan), "error_rate"),
        (lambda: Admission(first_before_retry=True), "first_before_retry"),
        (lambda: Hedging(copies=1), "copies"),
        (lambda: Hedging(delay_s=-0.1), "delay_s"),
        (lambda: Hedging(delay_s=math.inf), "delay_s"),
        (lambda: Degradation(half_queue=0.0), "half_queue"),
        (lambda: Degradation(half_queue=1.0, floor=1.1), "floor"),
    ],
)
def test_what_cannot_be_is_refused_by_name(make: Callable[[], object], field: str) -> None:
    """The message names the field, the rule and the value."""
    with pytest.raises(ValueError, match=rf"^{field}: .* \(got .*\)$"):
        make()


def test_the_edges_of_what_can_be() -> None:
    """No places at all, an adaptive queue that always stands, retries displaced under a limit alone."""
    assert Admission(queue_cap=0, standing=0, least_s=0.0, retry_after_s=0.0, error_rate=0.0).queue_cap == 0
    assert Admission(first_before_retry=True, queue_cap=0).first_before_retry
    assert Admission(first_before_retry=True, limit=AimdLimit()).first_before_retry
    assert Hedging(copies=2, delay_s=0.0).copies == 2


@pytest.mark.parametrize(
    ("admission", "is_plain"),
    [
        (Admission(), True),
        (Admission(queue_cap=0), True),
        (Admission(queue_cap=100), True),
        (Admission(standing=3, least_s=0.1), True),
        (Admission(discipline="lifo"), False),
        (Admission(discipline="adaptive-lifo"), False),
        (Admission(drop_expired=True), False),
        (Admission(cancel_on_disconnect=True), False),
        (Admission(queue_cap=1, first_before_retry=True), False),
        (Admission(codel=CoDel()), False),
        (Admission(limit=AimdLimit()), False),
        (Admission(degradation=Degradation(10.0)), False),
        (Admission(queue_cap=1, retry_after_s=1.0), False),
        (Admission(error_rate=0.1), False),
    ],
)
def test_plain_is_first_in_first_out_and_perhaps_a_cap(admission: Admission, is_plain: bool) -> None:
    """What needs the simulation of events is not plain."""
    assert admission.is_plain is is_plain


def test_no_defence_is_forgotten_among_the_plain() -> None:
    """Every field is known to the table above: a new one must say whether it is plain."""
    assert {field.name for field in fields(Admission)} == {
        *("discipline", "standing", "queue_cap", "drop_expired", "least_s", "cancel_on_disconnect"),
        *("first_before_retry", "codel", "limit", "degradation", "retry_after_s", "error_rate"),
    }
    assert set(CODES) == {"fifo", "lifo", "adaptive-lifo"}


def test_scaling_scales_every_duration() -> None:
    """And nothing else."""
    admission = Admission(
        queue_cap=7,
        standing=3,
        drop_expired=True,
        least_s=1.0,
        codel=CoDel(1.0, 2.0),
        limit=AimdLimit(timeout_s=4.0),
        degradation=Degradation(10.0),
        retry_after_s=8.0,
        error_rate=0.5,
    )
    assert admission.scaled(0.5) == Admission(
        queue_cap=7,
        standing=3,
        drop_expired=True,
        least_s=0.5,
        codel=CoDel(0.5, 1.0),
        limit=AimdLimit(timeout_s=2.0),
        degradation=Degradation(10.0),
        retry_after_s=4.0,
        error_rate=0.5,
    )
    assert Admission().scaled(0.5) == Admission()
