"""Pods with a queue each: by hand, against a plain recursion, and against queueing theory."""

import itertools
import math
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.admission import Admission
from domain.codel import CoDel
from domain.degradation import Degradation, rate_share
from domain.limits.aimd import AimdLimit
from domain.routing import chosen_pod
from domain.streams import stream
from target_service.draws import demands, routing_draws
from target_service.pod_queues import PodQueues
from target_service.queue import ServiceQueue
from target_service.settings import CapacityChange

ROUTINGS = ["round-robin", "random", "shortest-queue"]


def pod_queues(routing, pods, work, choices=(), **kwargs):
    return PodQueues(routing, pods, 1.0, iter(map(float, work)), iter(choices), **kwargs)


def ends(queue, until):
    return {departure.item: departure.ideal_end_s for departure in queue.advance(until)}


def test_round_robin_by_hand():
    """Two pods in turn; each waits for its own last end only, though the other pod is idle."""
    queue = pod_queues("round-robin", 2, [5, 1, 2, 1, 1, 1])
    for name, at in zip("abcdef", (0, 0, 1, 3, 4, 9), strict=True):
        queue.arrive(at, name)
    # The first pod has a, c, e and the second b, d, f.
    assert ends(queue, 100) == {"a": 5, "b": 1, "c": 7, "d": 4, "e": 8, "f": 10}
    state = queue.state(100)
    assert (state.completed, state.busy_s, state.in_service, state.queue_depth) == (6, 11, 0, 0)


def test_shortest_queue_and_random_by_hand():
    """Where the fewest are, who is in service counted; by chance, where the draw says."""
    queue = pod_queues("shortest-queue", 2, [5, 1, 1, 1], [0.9, 0.0, 0.4, 0.6])
    for name, at in (("a", 0), ("b", 0), ("c", 0.5), ("d", 2.5)):
        queue.arrive(at, name)
    # a to the second pod by the draw, b to the empty first, c to the first of two alike, d where nobody is.
    assert ends(queue, 100) == {"a": 5, "b": 1, "c": 2, "d": 3.5}
    queue = pod_queues("random", 2, [5, 1, 1], [0.6, 0.5, 0.49])
    for name in "abc":
        queue.arrive(0, name)
    assert ends(queue, 100) == {"a": 5, "b": 6, "c": 1}


def test_the_sums_of_the_state_by_hand():
    """Three pods at rate 2 under five pieces of work, a quarter second in, and saturation until the first
    pod runs empty."""
    queue = PodQueues("round-robin", 3, 2.0, iter([1.0, 2.0, 3.0, 1.0, 2.0]), iter(()))
    for number in range(5):
        queue.arrive(0, number)
    state = queue.state(0.25)
    assert (state.queue_depth, state.in_service, state.arrived, state.completed) == (2, 3, 5, 0)
    assert (state.pods, state.replicas, state.starting, state.draining) == (3, 3, 0, 0)
    assert state.backlog_s == pytest.approx((9 - 3 * 0.5) / 6)
    assert (state.busy_s, state.saturated_s) == (pytest.approx(0.75), pytest.approx(0.25))
    # Ends at .5 and 1 (the first pod, which is empty then), 1 and 2 (second), 1.5 (third).
    state = queue.state(10)
    assert (state.busy_s, state.saturated_s) == (pytest.approx(4.5), pytest.approx(1.0))
    assert state.saturated_completed in (2, 3)  # the two that end at 1, in either order
    assert (state.backlog_s, state.pod_s) == (0, 30)


def test_a_change_of_the_rate_reaches_every_pod_exactly():
    """Half the rate from 1 to 3, told in advance; a pod that begins within has that rate too."""
    queue = pod_queues("round-robin", 2, [4, 2, 1, 1])
    queue.set_capacity(1, CapacityChange(rate_per_pod=0.5))
    queue.set_capacity(2, CapacityChange(pods=3))
    queue.set_capacity(3, CapacityChange(rate_per_pod=1.0))
    queue.arrive(0, "a")
    queue.arrive(0, "b")
    queue.arrive(2, "c")  # the third arrival, to the third pod
    queue.arrive(2, "d")  # to the first
    assert ends(queue, 100) == {"a": 5, "b": 3, "c": 3.5, "d": 6}


def test_the_client_that_leaves_takes_its_own_place():
    """Of two that have the same number in different queues, the right one leaves; nothing leaves twice."""
    queue = pod_queues("round-robin", 2, [3] * 6)
    numbers = [queue.arrive(0, name) for name in "abcdef"]
    assert len(set(numbers)) == 6
    assert queue.cancel(1, numbers[3])
    assert not queue.cancel(1, numbers[3])
    assert not queue.cancel(1, numbers[0])  # in service
    assert ends(queue, 100) == {"d": 1, "a": 3, "b": 3, "c": 6, "f": 6, "e": 9}
    assert not queue.cancel(100, numbers[5])
    assert queue.state(100).cancelled == 1


def test_a_client_leaves_a_pod_that_drains():
    """Given up with two: the one that waits can go; when the other ends, its pod is gone, its counts stay."""
    queue = pod_queues("round-robin", 2, [3] * 4)
    numbers = [queue.arrive(0, name) for name in "abcd"]
    queue.set_capacity(1, CapacityChange(pods=1))
    assert queue.state(1).draining == 1
    assert queue.cancel(2, numbers[3])
    assert ends(queue, 3.5) == {"d": 2, "a": 3, "b": 3}
    state = queue.state(3.5)
    assert (state.draining, state.cancelled, state.completed, state.busy_s) == (0, 1, 2, 6.5)
    assert not queue.cancel(4, numbers[1])
    assert queue.outstanding() == ["c"]


def test_every_pod_has_the_defences_for_itself():
    """A queue cap of one: one waits before each pod, and a free pod elsewhere helps nobody."""
    queue = pod_queues("round-robin", 2, [9] * 4, admission=Admission(queue_cap=1))
    for name in "abcdef":
        queue.arrive(0, name)
    assert [(left.item, left.fate, left.reason) for left in queue.advance(0)] == [
        ("e", "rejected", "full"),
        ("f", "rejected", "full"),
    ]
    limited = pod_queues("round-robin", 3, [9] * 9, admission=Admission(limit=AimdLimit(initial=2, least=1)))
    assert limited.state(0).limit == 6
    for number in range(9):
        limited.arrive(0, number)
    assert (limited.state(0).rejected, limited.state(0).in_service) == (3, 3)


def test_a_pod_slows_down_by_its_own_queue():
    """Of two pods one has three attempts: it alone is slower, and the share of the rate is the mean."""
    degradation = Degradation(2.0, 0.0)
    slow = pod_queues(
        "shortest-queue", 1, [9] * 4, itertools.repeat(0.0), admission=Admission(degradation=degradation)
    )
    for number in range(3):
        slow.arrive(0, number)
    alone = slow.state(0).rate_share
    assert alone == rate_share(3, 0.0, 2.0) < 1
    slow.set_capacity(0, CapacityChange(pods=2))
    assert slow.state(0).rate_share == pytest.approx((alone + rate_share(0, 0.0, 2.0)) / 2)


def test_saturation_is_that_of_the_pods_there_are():
    """Three busy pods, the two newest given up at 2: what these complete at 9, draining, does not count."""
    queue = pod_queues("round-robin", 3, [10, 9, 9, 1])
    for number in range(3):
        queue.arrive(0, number)
    queue.set_capacity(2, CapacityChange(pods=1))
    queue.set_capacity(12, CapacityChange(pods=2))
    state = queue.state(11)
    assert (state.saturated_s, state.saturated_completed, state.draining) == (10, 1, 0)
    queue.arrive(12.5, 3)
    state = queue.state(20)
    assert (state.saturated_s, state.saturated_completed, state.completed) == (10, 1, 4)


class PlainPods:
    """Every pod's Lindley recursion, and its length by counting the ends to come. At rate 1."""

    def __init__(self, routing, pods, choices):
        self.routing, self.choices, self.routed = routing, choices, 0
        self.pods, self.ends = [[] for _ in range(pods)], []

    def resize(self, pods):
        del self.pods[pods:]
        self.pods += [[] for _ in range(pods - len(self.pods))]

    def arrive(self, now, demand):
        u = 0.0 if self.routing == "round-robin" else next(self.choices)
        lengths = [sum(end > now for end in pod) for pod in self.pods]
        pod = self.pods[chosen_pod(self.routing, self.routed, lengths, u)]
        self.routed += 1
        pod.append(max(now, pod[-1] if pod else 0.0) + demand)
        self.ends.append(pod[-1])


@given(
    routing=st.sampled_from(ROUTINGS),
    pods=st.integers(1, 5),
    load=st.sampled_from([0.5, 0.9, 2.0]),
    seed=st.integers(0, 2**32),
    resizing=st.booleans(),
)
def test_agrees_with_the_recursion_of_each_pod(routing, pods, load, seed, resizing):
    """However late it is advanced, and while pods come and go; departures come in order and none is lost."""
    rng = np.random.default_rng(seed)
    work, choices = rng.exponential(size=80).tolist(), rng.random(80).tolist()
    queue, plain = pod_queues(routing, pods, work, choices), PlainPods(routing, pods, iter(choices))
    at = np.cumsum(rng.exponential(1 / (load * pods), 80)).tolist()
    changes = rng.integers(1, 6, 80).tolist()
    found = []
    for number, (now, demand) in enumerate(zip(at, work, strict=True)):
        if resizing and rng.random() < 0.15:
            queue.set_capacity(now, CapacityChange(pods=changes[number]))
            plain.resize(changes[number])
        queue.arrive(now, number)
        plain.arrive(now, demand)
        if rng.random() < 0.4:
            found += queue.advance(now)
    left = queue.outstanding()
    assert sorted([one.item for one in found] + left) == sorted({one.item for one in found} | set(left))
    found += queue.advance(1e6)
    by_item = {one.item: one.ideal_end_s for one in found}
    assert [by_item[number] for number in range(80)] == pytest.approx(plain.ends, abs=1e-9)
    assert [one.ideal_end_s for one in found] == sorted(one.ideal_end_s for one in found)
    state = queue.state(1e6)
    assert state.busy_s == pytest.approx(sum(work))
    assert (state.arrived, state.completed, state.draining, state.backlog_s) == (80, 80, 0, 0)


admissions = st.builds(
    Admission,
    queue_cap=st.none() | st.integers(0, 6),
    discipline=st.sampled_from(["fifo", "lifo", "adaptive-lifo"]),
    drop_expired=st.booleans(),
    codel=st.sampled_from([None, CoDel(0.3, 0.9)]),
    degradation=st.sampled_from([None, Degradation(2.0, 0.5), Degradation(20.0, 0.0)]),
    error_rate=st.sampled_from([0.0, 0.3]),
)


@given(
    admission=admissions,
    routing=st.sampled_from(ROUTINGS),
    seed=st.integers(0, 2**32),
    late=st.booleans(),
)
def test_one_pod_is_one_queue(admission, routing, seed, late):
    """With one pod everything is as with one shared queue: defences, cancelled clients, changes told late."""
    rng = np.random.default_rng(seed)
    work, draws = rng.exponential(size=150).tolist(), rng.random(150).tolist()
    shared = ServiceQueue(1, 1.0, iter(work), admission=admission, draws=iter(draws))
    own = PodQueues(
        routing, 1, 1.0, iter(work), itertools.repeat(0.5), admission=admission, draws=iter(draws)
    )
    now, numbers, found, expected = 0.0, [], [], []
    for name in range(60):
        now += rng.exponential(0.8)
        deadline, attempt = now + rng.exponential(3.0), int(rng.integers(1, 4))
        numbers.append([queue.arrive(now, name, attempt, deadline) for queue in (shared, own)])
        if rng.random() < 0.2:
            pair = numbers[int(rng.integers(0, name + 1))]
            assert shared.cancel(now, pair[0]) == own.cancel(now, pair[1])
        if rng.random() < 0.2:
            at = now - (0.3 if late else 0.0)
            change = CapacityChange(capacity_factor=float(rng.choice([0.0, 0.5, 1.0, 2.0])))
            for queue in (shared, own):
                queue.set_capacity(at, change)
        if rng.random() < 0.5:
            expected += shared.advance(now)
            found += own.advance(now)
    for queue, gone in ((shared, expected), (own, found)):
        gone.extend(queue.advance(now))
        queue.set_capacity(now, CapacityChange(capacity_factor=1.0))
        gone.extend(queue.advance(1e7))
    assert [(one.item, one.fate, one.reason) for one in found] == [
        (one.item, one.fate, one.reason) for one in expected
    ]
    assert [one.ideal_end_s for one in found] == pytest.approx([one.ideal_end_s for one in expected])
    # A queue that degrades takes a change told late as one of its last arrival; the router does not.
    unlike = {"saturated_s"} if late and admission.degradation else set()
    for field, value in shared.state(1e7)._asdict().items():
        if field in unlike:
            continue
        assert getattr(own.state(1e7), field) == pytest.approx(value, abs=1e-6), field


def test_no_service_is_lost_while_every_pod_has_work():
    """50,000 completions under a jittery clock: the pods are busy all the time, to nine digits."""
    pods, rate, start = 3, 40.0, 1e6
    queue = PodQueues("shortest-queue", pods, rate, demands(3), routing_draws(3), start)
    rng, now, offered = np.random.default_rng(5), start, 0
    state = queue.state(now)
    while state.completed < 50_000:
        now += rng.exponential(0.05) + (0.5 if rng.random() < 0.01 else 0.0)
        # Kept full, in lumps, by a clock that is sometimes half a second late.
        while offered < state.completed + 300:
            queue.arrive(now if offered >= 300 else start, offered)
            offered += 1
        queue.advance(now)
        state = queue.state(now)
    assert state.queue_depth > 0
    assert state.busy_s / (pods * (now - start)) == pytest.approx(1, rel=1e-9)
    assert state.saturated_s == pytest.approx(now - start, rel=1e-9)
    assert state.saturated_completed == state.completed
    assert state.pod_s == pytest.approx(pods * (now - start), rel=1e-12)


PODS, LOAD, SAMPLES = 4, 0.75, 40_000


def waits(routing):
    """Waits in mean services, in order of arrival, of Poisson arrivals and exponential work."""
    if routing == "shared":
        queue = ServiceQueue(PODS, 1.0, demands(7))
    else:
        queue = PodQueues(routing, PODS, 1.0, demands(7), routing_draws(7))
    at = np.cumsum(stream(7, "arrivals").exponential(1 / (LOAD * PODS), SAMPLES)).tolist()
    for number, now in enumerate(at):
        queue.arrive(now, number)
    found = np.empty(SAMPLES)
    for one in queue.advance(1e9):
        found[one.item] = one.ideal_end_s - one.service_s - at[one.item]
    state = queue.state(at[-1])
    return found, state


@pytest.fixture(scope="module")
def measured():
    return {routing: waits(routing) for routing in ("shared", *ROUTINGS)}


def mean_and_error(found):
    """The mean, and its standard error by 20 batches, which knows how waits hang together."""
    batches = found.reshape(20, -1).mean(axis=1)
    return batches.mean(), batches.std(ddof=1) / math.sqrt(20)


def erlang_wait():
    """M/M/N: C / (N − a), C the Erlang C probability of waiting."""
    offered = LOAD * PODS
    blocked = offered**PODS / factorial(PODS) / (1 - LOAD)
    probability = blocked / (sum(offered**k / factorial(k) for k in range(PODS)) + blocked)
    return probability / (PODS - offered)


def every_nth_arrival_wait():
    """E_N/M/1, what round-robin makes of Poisson arrivals: σ/(1 − σ), σ the root of σ = A*(1 − σ)."""
    sigma = 0.5
    for _ in range(500):
        sigma = (LOAD * PODS / (LOAD * PODS + 1 - sigma)) ** PODS
    return sigma / (1 - sigma)


@pytest.mark.parametrize(
    ("routing", "expected"),
    [("random", LOAD / (1 - LOAD)), ("round-robin", every_nth_arrival_wait()), ("shared", erlang_wait())],
)
def test_the_mean_wait_is_that_of_theory(measured, routing, expected):
    """M/M/1 at the same load behind chance, E_N/M/1 in turn, M/M/N in one queue: within 4 standard errors,
    which are small enough to tell them apart."""
    mean, error = mean_and_error(measured[routing][0])
    assert error < 0.08 * expected
    assert abs(mean - expected) < 4 * error


def test_better_routing_waits_less(measured):
    """One queue before the shortest, before in turn, before chance: the same arrivals, paired by batch."""
    for better, worse in itertools.pairwise(("shared", "shortest-queue", "round-robin", "random")):
        mean, error = mean_and_error(measured[worse][0] - measured[better][0])
        assert mean > 4 * error, (better, worse)


@pytest.mark.parametrize("routing", ROUTINGS)
def test_saturated_completions_give_the_rate(measured, routing):
    """Completions per second in which every pod is busy are the capacity, within 4/√n."""
    state = measured[routing][1]
    rate = state.saturated_completed / state.saturated_s
    assert state.saturated_completed > 5_000
    assert rate == pytest.approx(PODS, rel=4 / math.sqrt(state.saturated_completed))
