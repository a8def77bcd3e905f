from collections import Counter

import pytest

from domain.routing import chosen_pod


def test_in_turn():
    """Round-robin counts, whatever the lengths and the draw."""
    places = [chosen_pod("round-robin", routed, [9, 0, 3], 0.99) for routed in range(7)]
    assert places == [0, 1, 2, 0, 1, 2, 0]


def test_any_with_the_same_chance():
    """Equal parts of [0, 1) go to each pod; the largest number below 1 is the last one's."""
    places = [chosen_pod("random", 5, [0, 7, 7, 0], number / 400) for number in range(400)]
    assert Counter(places) == dict.fromkeys(range(4), 100)
    assert chosen_pod("random", 0, [0] * 3, 1 - 2**-53) == 2


def test_where_the_fewest_are():
    """The shortest, and among those alike any with the same chance."""
    assert chosen_pod("shortest-queue", 0, [3, 1, 2], 0.99) == 1
    places = [chosen_pod("shortest-queue", 0, [2, 1, 5, 1, 1], number / 300) for number in range(300)]
    assert Counter(places) == {1: 100, 3: 100, 4: 100}
    assert chosen_pod("shortest-queue", 0, [0, 0], 1 - 2**-53) == 1


@pytest.mark.parametrize(("routing", "lengths"), [("shared", [0, 0]), ("random", []), ("round-robin", [])])
def test_nothing_to_decide(routing, lengths):
    """One queue for all, or no pod at all."""
    with pytest.raises(ValueError, match="routing: needs a pod"):
        chosen_pod(routing, 0, lengths, 0.5)
