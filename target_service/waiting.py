"""The line of those that wait: served from either end, left from anywhere, all in constant time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Admitted(NamedTuple, Generic[T]):
    """An attempt that was let in.

    ``number`` counts arrivals from 1; ``attempt`` is 1 for a first attempt; times are on the queue's
    clock, ``deadline_s`` inf if there is none; ``demand`` is its work in mean services; ``in_system`` is
    how many there were right after it had been let in; ``fails`` says that its answer will be an error.
    """

    number: int
    item: T
    attempt: int
    arrived_s: float
    deadline_s: float
    demand: float
    in_system: int
    fails: bool


class WaitingLine(Generic[T]):
    """Whoever waits, in order of arrival; ``work`` is the sum of their demands."""

    def __init__(self) -> None:
        self.work = 0.0
        # An ordinary dict finds its first or last key by walking over those that were deleted there.
        self._line: OrderedDict[int, Admitted[T]] = OrderedDict()
        self._retries: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._line)

    def __iter__(self) -> Iterator[Admitted[T]]:
        return iter(self._line.values())

    @property
    def has_retries(self) -> bool:
        """Whether an attempt that is not a first one waits."""
        return bool(self._retries)

    def add(self, admitted: Admitted[T]) -> None:
        """The newest arrival joins the line."""
        self._line[admitted.number] = admitted
        self.work += admitted.demand
        if admitted.attempt > 1:
            self._retries[admitted.number] = None

    def take(self, newest: bool) -> Admitted[T]:
        """The newest or the oldest leaves the line; KeyError if it is empty."""
        _, admitted = self._line.popitem(last=newest)
        self._forget(admitted)
        return admitted

    def take_newest_retry(self) -> Admitted[T]:
        """The newest of those that are not first attempts leaves the line; there must be one."""
        return self._line_without(next(reversed(self._retries)))

    def remove(self, number: int) -> Admitted[T] | None:
        """The arrival of this number leaves the line; None if it does not wait."""
        return self._line_without(number) if number in self._line else None

    def _line_without(self, number: int) -> Admitted[T]:
        admitted = self._line.pop(number)
        self._forget(admitted)
        return admitted

    def _forget(self, admitted: Admitted[T]) -> None:
        # Rounding must not add up over days: an empty line is no work, exactly.
        self.work = self.work - admitted.demand if self._line else 0.0
        if admitted.attempt > 1:
            del self._retries[admitted.number]
