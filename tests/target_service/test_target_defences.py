import gc
import math
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.admission import Admission
from domain.codel import CoDel
from domain.degradation import Degradation
from domain.limits.aimd import AimdLimit
from domain.observer import NullObserver
from domain.streams import stream
from target_service.completions import Completions, Ticket
from target_service.draws import error_draws
from target_service.gate import Departure
from target_service.queue import ServiceQueue
from target_service.settings import CapacityChange
from target_service.waiting import Admitted, WaitingLine
from tests.target_service.plain_service import PlainService


def queue_of(demands, pods=1, draws=(), **admission):
    """A queue at rate 1 that has exactly these demands to give: one more admission would be an error."""
    rules = Admission(**admission)
    return ServiceQueue(pods, 1.0, iter(map(float, demands)), admission=rules, draws=iter(draws))


def arrive(queue, text, *, attempt=1):
    """Each letter arrives, at the time that follows it: ``"a 0 b .5"``."""
    words = text.split()
    for name, at in zip(words[::2], words[1::2], strict=True):
        queue.arrive(float(at), name, attempt)


def left(queue, now=1000.0):
    """(item, fate, reason, when) in the order it happened."""
    return [(d.item, d.fate, d.reason, pytest.approx(d.ideal_end_s, abs=1e-12)) for d in queue.advance(now)]


def fates(queue, now=1000.0):
    """``"a ok 1 b shed 2"``: who left how and when, in the order it happened."""
    return " ".join(f"{d.item} {d.fate} {d.ideal_end_s:g}" for d in queue.advance(now))


def limit_of(limit, least=None, most=None, **others):
    return AimdLimit(limit, limit if least is None else least, limit if most is None else most, **others)


class TestQueueCap:
    def test_one_too_many_is_rejected_at_once_and_draws_nothing(self):
        """One place: c finds it taken at 0.6; d comes as a ends, finds it free and gets the third demand."""
        queue = queue_of([1, 1, 5], queue_cap=1)
        arrive(queue, "a 0 b .5 c .6 d 1")
        assert queue.has_departures
        assert left(queue) == [
            ("c", "rejected", "full", 0.6), ("a", "ok", "", 1), ("b", "ok", "", 2), ("d", "ok", "", 7)
        ]  # fmt: skip

    def test_no_place_is_no_queue_but_the_pods_are_used(self):
        """A cap of 0 with two pods lets in two."""
        queue = queue_of([2, 2], pods=2, queue_cap=0)
        arrive(queue, "a 0 b 1 c 1.5")
        assert fates(queue) == "c rejected 1.5 a ok 2 b ok 3"


class TestLimit:
    def test_as_many_as_the_limit_are_in_the_system(self):
        """Two may be in: the third is turned away, and the next may come when one has ended."""
        queue = queue_of([1, 1, 1], limit=limit_of(2))
        arrive(queue, "a 0 b 0 c .5 d 1")
        assert left(queue) == [
            ("c", "rejected", "limit", 0.5), ("a", "ok", "", 1), ("b", "ok", "", 2), ("d", "ok", "", 3)
        ]  # fmt: skip
        assert queue.state(10).limit == 2

    def test_what_was_served_raises_it_and_what_takes_too_long_lowers_it(self):
        """From 4: a (1 s) raises nothing as it was alone, b (2nd of 4) does, c took 3 s and halves."""
        queue = queue_of([1, 1, 1], limit=limit_of(4, least=1, most=9, backoff_ratio=0.5, timeout_s=2.5))
        arrive(queue, "a 0 b 0 c 0")
        assert [queue.state(at).limit for at in (0.5, 1, 2, 3)] == [4, 4, 5, 2]

    @pytest.mark.parametrize(
        ("rules", "leave"),
        [
            ({"drop_expired": True}, lambda queue: queue.advance(1)),
            ({}, lambda queue: queue.cancel(0.5, 2)),
        ],
    )
    def test_what_is_thrown_away_lowers_it(self, rules, leave):
        """Two drops halve a limit of 8 twice; a then raises nothing, being alone in a system of 2 or more."""
        limit = limit_of(8, least=1, most=9, backoff_ratio=0.5)
        queue = queue_of([1, 1, 1], limit=limit, **rules)
        for name in "abc":
            queue.arrive(0, name, 1, 0.9)
        leave(queue)
        assert queue.state(1).limit == (2 if rules else 4)

    def test_no_limit_is_none(self):
        """Infinity is not JSON."""
        assert queue_of([]).state(0).limit is None


class TestFirstBeforeRetry:
    def test_the_newest_retry_makes_room(self):
        """Two retries and a first wait in three places; two firsts take the places of s, then r; no third."""
        queue = queue_of([1] * 6, queue_cap=3, first_before_retry=True)
        arrive(queue, "a 0")
        arrive(queue, "r .1 s .2", attempt=2)
        arrive(queue, "b .3 c .4 d .5 e .6")
        arrive(queue, "t .7", attempt=3)
        assert left(queue) == [
            ("s", "rejected", "first-before-retry", 0.4),
            ("r", "rejected", "first-before-retry", 0.5),
            ("e", "rejected", "full", 0.6),
            ("t", "rejected", "full", 0.7),
            *[(name, "ok", "", end) for end, name in enumerate("abcd", 1)],
        ]

    def test_a_retry_in_service_stays(self):
        """Only what waits makes room."""
        queue = queue_of([1], queue_cap=0, first_before_retry=True)
        arrive(queue, "r 0", attempt=2)
        arrive(queue, "a .5")
        assert left(queue) == [("a", "rejected", "full", 0.5), ("r", "ok", "", 1)]

    def test_the_limit_hears_of_it_before_the_first_attempt_is_let_in(self):
        """A limit of 2 is halved by the retry that goes, and the first attempt is in all the same."""
        limit = limit_of(2, least=1, most=9, backoff_ratio=0.5)
        queue = queue_of([1, 1, 1], limit=limit, first_before_retry=True)
        arrive(queue, "a 0")
        arrive(queue, "r .1", attempt=2)
        arrive(queue, "b .2")
        state = queue.state(0.5)
        assert (state.limit, state.queue_depth, state.rejected) == (1, 1, 1)
        assert fates(queue) == "r rejected 0.2 a ok 1 b ok 2"


class TestOrder:
    @pytest.mark.parametrize(
        ("rules", "order"),
        [
            ({}, "abcde"),
            ({"discipline": "lifo"}, "aedcb"),
            # Four wait, then three: more than two, so the newest; then two: the oldest.
            ({"discipline": "adaptive-lifo", "standing": 2}, "aedbc"),
            ({"discipline": "adaptive-lifo"}, "aedcb"),
            ({"discipline": "adaptive-lifo", "standing": 0}, "aedcb"),
            ({"discipline": "adaptive-lifo", "standing": 4}, "abcde"),
        ],
    )
    def test_who_is_next(self, rules, order):
        """Five arrive at once at one pod; an adaptive queue stands at more than one a pod unless told."""
        queue = queue_of([1] * 5, **rules)
        arrive(queue, "a 0 b .1 c .2 d .3 e .4")
        assert [d.item for d in queue.advance(100)] == list(order)

    def test_standing_follows_the_pods(self):
        """Grown to three pods at 0.5, three wait no longer than others may: the oldest are next."""
        queue = queue_of([2, 2, 2, 2, 2], discipline="adaptive-lifo")
        arrive(queue, "a 0 b .1 c .2 d .3 e .4")
        queue.set_capacity(0.5, CapacityChange(pods=3))
        # At 0.5 four wait, more than three: e; then three: b. At 2 a ends and c is next.
        assert fates(queue) == "a ok 2 e ok 2.5 b ok 2.5 c ok 4 d ok 4.5"


class TestCoDel:
    def test_a_queue_that_stood_for_an_interval_sheds_what_waited_twice_the_target(self):
        """Target 0.5, interval 1.5.

        The least wait of the interval from 0 on is a's, 0, so at 1 there is no overload; of that from 1 on
        it is b's, 1, so d at 3 begins an overload and is served. At 4 the e and f have waited 4, and go; g
        has waited 0.5 and is served; at 5 that was the least wait, so h, first in its interval, is served.
        """
        queue = queue_of([1] * 8, codel=CoDel(0.5, 1.5))
        arrive(queue, "a 0 b 0 c 0 d 0 e 0 f 0 g 3.5 h 3.6")
        assert fates(queue) == "a ok 1 b ok 2 c ok 3 d ok 4 e shed 4 f shed 4 g ok 5 h ok 6"
        assert (queue.state(10).shed, queue.state(10).completed) == (2, 6)

    def test_what_starts_at_once_ends_an_overload(self):
        """Overloaded since 3 and idle from 4 on, the queue is asked at 7 and at 9: no wait, no overload.

        The next interval that could be overloaded begins after 9: k at 10 waited 0.9 and is served.
        """
        queue = queue_of([1, 1, 1, 1, 2, 1, 1, 1], codel=CoDel(0.5, 1.5))
        arrive(queue, "a 0 b 0 c 0 d 0 i 7 j 7.5 k 9.1 l 9.2")
        # i is the first after 4.5 and starts the interval to 8.5 with a wait of 0; j at 9 begins the next,
        # not overloaded since the least was 0; k at 10 has waited 0.9 and l at 11 begins an overload.
        assert fates(queue) == "a ok 1 b ok 2 c ok 3 d ok 4 i ok 9 j ok 10 k ok 11 l ok 12"


class TestDeadlines:
    def test_what_is_too_late_when_its_turn_comes_is_dropped(self):
        """a ends at 2: 1.9 is past, 2 is now, 2.5 is the half second that must be left; 2.6 will do."""
        queue = queue_of([2, 1, 1, 1, 1], drop_expired=True, least_s=0.5)
        queue.arrive(0, "a")
        for name, deadline in {"b": 1.9, "c": 2.0, "d": 2.5, "e": 2.6}.items():
            queue.arrive(0.1, name, 1, deadline)
        assert fates(queue) == "a ok 2 b expired 2 c expired 2 d expired 2 e ok 3"

    def test_otherwise_it_is_served_all_the_same(self):
        """Without the defence a deadline changes nothing, nor for what finds a pod free."""
        queue = queue_of([2, 1])
        queue.arrive(0, "a")
        queue.arrive(0, "b", 1, 1.0)
        assert fates(queue) == "a ok 2 b ok 3"
        queue = queue_of([2], drop_expired=True)
        queue.arrive(5, "a", 1, 4.0)
        assert fates(queue) == "a ok 7"

    def test_shedding_comes_first(self):
        """What CoDel throws out is shed, though too late as well; it is asked of what is too late."""
        queue = queue_of([1] * 6, codel=CoDel(0.5, 1.5), drop_expired=True)
        for name, deadline in {"a": 9, "b": 9, "c": 1.5, "d": 9, "e": 9, "f": 3}.items():
            queue.arrive(0, name, 1, deadline)
        # b at 1, c and d at 2: all in the interval to 2.5. e at 3 begins an overload; f at 4 is shed.
        assert fates(queue) == "a ok 1 b ok 2 c expired 2 d ok 3 e ok 4 f shed 4"


class TestErrors:
    def test_the_work_is_done_and_the_answer_is_an_error(self):
        """Draws below the rate fail; a rejected attempt draws nothing."""
        queue = queue_of([1] * 3, draws=[0.4, 0.5, 0.1], error_rate=0.5, queue_cap=1)
        arrive(queue, "a 0 b 0 c 0 d 1")
        assert fates(queue) == "c rejected 0 a error 1 b ok 2 d error 3"
        state = queue.state(5)
        assert (state.completed, state.errors, state.busy_s) == (3, 2, pytest.approx(3))

    def test_draws_are_those_of_the_error_stream(self):
        """One by one, in order of admission."""
        rng, draws = stream(5, "errors"), error_draws(5)
        assert [next(draws) for _ in range(100)] == rng.random(100).tolist()


class TestCancelling:
    def test_what_waits_leaves_and_what_is_served_stays(self):
        """b goes at 0.5; a cannot; c starts when a ends."""
        queue = queue_of([1, 1, 1])
        arrive(queue, "a 0 b 0 c 0")
        assert (queue.cancel(0.5, 2), queue.cancel(0.5, 2), queue.cancel(0.6, 1)) == (True, False, False)
        assert queue.state(0.6).backlog_s == pytest.approx(1.4)
        assert fates(queue) == "b cancelled 0.5 a ok 1 c ok 2"

    def test_at_the_very_time_its_turn_comes_it_has_begun(self):
        """What ends by then has ended first."""
        queue = queue_of([1, 1])
        arrive(queue, "a 0 b 0")
        assert not queue.cancel(1, 2)
        assert fates(queue) == "a ok 1 b ok 2"

    def test_a_rejected_arrival_has_a_number_too(self):
        """Numbers count arrivals."""
        queue = queue_of([1, 1], queue_cap=1)
        assert [queue.arrive(0, name) for name in "abc"] == [1, 2, 3]
        assert not queue.cancel(0, 3)


class TestDegradation:
    """At rate 1, half of what can be lost is lost at one in the system: 3/4, 2/3, 5/8 of the rate."""

    RULE = Degradation(half_queue=1.0, floor=0.5)

    def test_each_number_in_the_system_has_its_rate(self):
        """a alone: 0.3 by 0.4. With b: the other 0.7 at 2/3. Then b alone."""
        queue = queue_of([1, 1], degradation=self.RULE)
        arrive(queue, "a 0 b .4")
        assert queue.state(0.5).rate_share == pytest.approx(2 / 3)
        end = 0.4 + 0.7 * 3 / 2
        assert left(queue) == [("a", "ok", "", end), ("b", "ok", "", end + 4 / 3)]
        state = queue.state(10)
        # Busy is time in service, however slow; the one pod was busy throughout.
        assert (state.busy_s, state.saturated_s) == (pytest.approx(end + 4 / 3), pytest.approx(end + 4 / 3))

    def test_all_pods_slow_down(self):
        """Two pods with one each serve at 2/3."""
        queue = queue_of([1, 1], pods=2, degradation=self.RULE)
        arrive(queue, "a 0 b 0")
        assert left(queue) == [("a", "ok", "", 1.5), ("b", "ok", "", 1.5)]

    def test_a_departure_that_was_not_served_speeds_up_the_rest(self):
        """b is cancelled at 0.6, when a is at 0.4."""
        queue = queue_of([1, 1], degradation=self.RULE)
        arrive(queue, "a 0 b 0")
        queue.cancel(0.6, 2)
        assert left(queue) == [("b", "cancelled", "", 0.6), ("a", "ok", "", 1.4)]

    def test_what_is_dropped_at_dequeue_counts_until_then(self):
        """Three at 5/8; when a ends at 1.6, b is too late, and c is alone."""
        queue = queue_of([1, 1, 1], degradation=self.RULE, drop_expired=True)
        for name, deadline in {"a": 9, "b": 1, "c": 9}.items():
            queue.arrive(0, name, 1, deadline)
        assert left(queue) == [
            ("a", "ok", "", 1.6), ("b", "expired", "", 1.6), ("c", "ok", "", 1.6 + 4 / 3)
        ]  # fmt: skip

    def test_a_rejected_arrival_changes_nothing(self):
        """The cap keeps the number at one."""
        queue = queue_of([1], degradation=self.RULE, queue_cap=0)
        arrive(queue, "a 0 b .4")
        assert left(queue) == [("b", "rejected", "full", 0.4), ("a", "ok", "", 4 / 3)]

    def test_it_multiplies_with_the_capacity_factor(self):
        """3/4 until 0.4, where 0.3 is done; then half of that; an outage from 1 to 2 does nothing."""
        queue = queue_of([1], degradation=self.RULE)
        arrive(queue, "a 0")
        for at, factor in ((0.4, 0.5), (1.0, 0.0), (2.0, 0.5)):
            queue.set_capacity(at, CapacityChange(capacity_factor=factor))
        assert left(queue) == [("a", "ok", "", 0.4 + 0.7 / 0.375 + 1)]

    def test_a_change_told_late_counts_from_the_last_arrival_or_departure(self):
        """An outage at 0.2 that is told at 0.5, after b came at 0.4, is one from 0.4 on."""
        queue = queue_of([1, 1], degradation=self.RULE)
        arrive(queue, "a 0 b .4")
        queue.set_capacity(0.2, CapacityChange(capacity_factor=0.0))
        queue.set_capacity(1.4, CapacityChange(capacity_factor=1.0))
        end = 1.4 + 0.7 * 3 / 2
        assert left(queue) == [("a", "ok", "", end), ("b", "ok", "", end + 4 / 3)]

    def test_a_rate_of_almost_nothing_is_no_fault(self):
        """A floor of 0 under a long queue: all is served in the end."""
        queue = queue_of([1] * 100, degradation=Degradation(half_queue=0.1, floor=0.0))
        for number in range(100):
            queue.arrive(0, number)
        assert [d.item for d in queue.advance(1e9)] == list(range(100))


admissions = st.builds(
    lambda first, cap, limit, **others: Admission(
        first_before_retry=first and (cap is not None or limit is not None),
        queue_cap=cap,
        limit=limit,
        **others,
    ),
    first=st.booleans(),
    cap=st.none() | st.integers(0, 6),
    limit=st.sampled_from([None, limit_of(5), limit_of(3, 1, 12, backoff_ratio=0.7, timeout_s=3.0)]),
    discipline=st.sampled_from(["fifo", "lifo", "adaptive-lifo"]),
    standing=st.none() | st.integers(0, 4),
    drop_expired=st.booleans(),
    least_s=st.sampled_from([0.0, 0.3]),
    codel=st.sampled_from([None, CoDel(0.3, 0.9), CoDel(1.0, 5.0)]),
    degradation=st.sampled_from([None, Degradation(2.0, 0.5), Degradation(20.0, 0.0)]),
    error_rate=st.sampled_from([0.0, 0.3]),
)


@settings(deadline=None, max_examples=300)
@given(
    admission=admissions,
    pods=st.integers(1, 4),
    load=st.sampled_from([0.5, 0.95, 1.5, 4.0]),
    seed=st.integers(0, 2**32),
    cancelling=st.booleans(),
    changing=st.booleans(),
)
def test_it_does_what_the_plain_service_does(admission, pods, load, seed, cancelling, changing):
    """Every attempt leaves as and when it does there, however late ``advance`` is called; none is lost.

    Admissions never go beyond the limit, and never more wait than there are places.
    """
    rng = np.random.default_rng(seed)
    demands, draws = rng.exponential(size=150).tolist(), rng.random(150).tolist()
    queue = ServiceQueue(pods, 1.0, iter(demands), admission=admission, draws=iter(draws))
    plain = PlainService(pods, 1.0, admission, iter(demands), iter(draws))
    events = [(at, "arrive") for at in np.cumsum(rng.exponential(1 / (load * pods), 120)).tolist()]
    end = events[-1][0]
    if cancelling:
        events += [(at, "cancel") for at in rng.uniform(0, end, 30).tolist()]
    if changing:
        events += [(at, "change") for at in rng.uniform(0, end, 4).tolist()]
    found, numbers = [], []
    for at, kind in sorted(events):
        if kind == "arrive":
            name, attempt = len(numbers), int(rng.integers(1, 4))
            deadline = at + rng.exponential(4.0) if rng.random() < 0.7 else math.inf
            before = queue.state(at)
            numbers.append(queue.arrive(at, name, attempt, deadline))
            plain.arrive(at, name, attempt, deadline)
            check_bounds(admission, before, queue.state(at))
        elif kind == "cancel":
            name = int(rng.integers(0, len(numbers) + 1))
            if name < len(numbers):
                queue.cancel(at, numbers[name])
                plain.cancel(at, name)
        else:
            more, factor = int(rng.integers(1, 5)), float(rng.choice([0.0, 0.4, 1.0, 2.0]))
            queue.set_capacity(at, CapacityChange(pods=more, capacity_factor=factor))
            plain.change(at, more, factor)
        if rng.random() < 0.4:
            found += queue.advance(at)
    queue.set_capacity(end, CapacityChange(capacity_factor=1.0))
    plain.change(end, plain.pods, 1.0)
    found += queue.advance(end)
    check_conservation(queue.state(end), len(numbers))
    assert sorted([d.item for d in found] + queue.outstanding()) == list(range(len(numbers)))
    found += queue.advance(1e7)
    plain.until(1e7)
    assert [(d.item, d.fate, d.reason) for d in found] == [one[:3] for one in plain.left]
    assert [d.ideal_end_s for d in found] == pytest.approx([one[3] for one in plain.left], rel=1e-9)
    state = queue.state(1e7)
    assert (state.queue_depth, state.in_service, state.backlog_s) == (0, 0, 0)
    assert state.busy_s == pytest.approx(sum(d.service_s for d in found))
    check_conservation(state, len(numbers))


def check_conservation(state, arrived):
    gone = state.completed + state.rejected + state.shed + state.expired + state.cancelled
    assert state.arrived == arrived == gone + state.queue_depth + state.in_service


def check_bounds(admission, before, after):
    """Of one arrival at a time when nothing else happens."""
    entered = after.rejected == before.rejected
    if entered and before.limit is not None:
        assert after.queue_depth + after.in_service <= before.limit
    if entered and admission.queue_cap is not None and after.queue_depth > before.queue_depth:
        assert after.queue_depth <= admission.queue_cap


class TestWaitingLine:
    def test_work_of_an_empty_line_is_nothing_at_all(self):
        """However the rounding went."""
        line = WaitingLine()
        for number in range(1, 11):
            line.add(Admitted(number, None, 1 + number % 2, 0.0, math.inf, 0.1 * number, number, False))
        line.remove(5)
        line.take_newest_retry()
        for newest in [True, False] * 4:
            line.take(newest)
        assert (len(line), line.work, line.has_retries, line.remove(3)) == (0, 0.0, False, None)


def test_what_has_left_is_let_go_of_at_once():
    """A ticket that has been answered is freed without the garbage collector: no cycle holds it."""

    class Watched(Ticket):
        __slots__ = ("__weakref__",)

    class Future:
        def done(self):
            return False

        def set_result(self, result):
            self.result = result

    gc.disable()
    try:
        transport = SimpleNamespace(is_closing=lambda: False)
        ticket = Watched(SimpleNamespace(transport=transport), Future(), 1, 0.0)
        future, gone = ticket.done, weakref.ref(ticket)
        Completions(NullObserver(), lambda: 1.0).deliver(Departure(ticket, 1.0, 1.0))
        del ticket
        assert gone() is None
        assert future.result == ("ok", "")
    finally:
        gc.enable()
