"""The service once more, as plainly as it can be said: lists, remaining work, one event after the other.

It shares the rules of ``domain`` with the queue and nothing else: no work clock, no heap, no line that is
left in constant time. Times must not coincide.
"""

import math

from domain.admission import ADMITTED, INSTEAD_OF_RETRY, REASONS, verdict
from domain.codel import STATE_SIZE, sheds
from domain.deadlines import expired
from domain.degradation import rate_share
from domain.limits.account import LimitAccount
from domain.queue_order import CODES, takes_newest


class Piece:
    def __init__(self, name, attempt, arrived, deadline, work, in_system, fails):
        self.name, self.attempt, self.arrived, self.deadline = name, attempt, arrived, deadline
        self.left, self.in_system, self.fails = work, in_system, fails


class PlainService:
    """``left`` lists (name, fate, reason, time) of whatever has left."""

    def __init__(self, pods, rate, admission, demand, draws):
        self.pods, self.rate, self.admission = pods, rate, admission
        self.demand, self.draws = demand, draws
        self.factor, self.now = 1.0, 0.0
        self.waiting, self.running, self.left = [], [], []
        self.limit = None if admission.limit is None else LimitAccount(admission.limit)
        self.codel_state = [0.0] * STATE_SIZE

    @property
    def in_system(self):
        return len(self.waiting) + len(self.running)

    def speed(self):
        d = self.admission.degradation
        share = 1.0 if d is None else rate_share(self.in_system, d.floor, d.half_queue)
        return self.rate * self.factor * share

    def until(self, time):
        """Serve up to a time."""
        while True:
            speed = self.speed()
            first = min(self.running, key=lambda piece: piece.left, default=None)
            end = math.inf if first is None or speed == 0 else self.now + first.left / speed
            stop = min(end, time)
            for piece in self.running:
                piece.left -= speed * (stop - self.now)
            self.now = stop
            if end > time:
                return
            self.running.remove(first)
            self.leaves(first, "error" if first.fails else "ok", dropped=False)
            self.fill()

    def leaves(self, piece, fate, reason="", dropped=True):
        self.left.append((piece.name, fate, reason, self.now))
        if self.limit is not None:
            self.limit.ended(self.now, self.now - piece.arrived, piece.in_system, dropped)

    def arrive(self, time, name, attempt, deadline):
        """One more."""
        self.until(time)
        rules = self.admission
        retries = [piece for piece in self.waiting if piece.attempt > 1]
        found = verdict(
            self.in_system,
            len(self.waiting),
            len(self.running),
            self.pods,
            -1 if rules.queue_cap is None else rules.queue_cap,
            math.inf if self.limit is None else self.limit.limit,
            bool(rules.first_before_retry and attempt == 1 and retries),
        )
        if found == INSTEAD_OF_RETRY:
            self.waiting.remove(retries[-1])
            self.leaves(retries[-1], "rejected", REASONS[found])
        elif found != ADMITTED:
            self.left.append((name, "rejected", REASONS[found], time))
            return
        work = next(self.demand)
        fails = rules.error_rate > 0 and next(self.draws) < rules.error_rate
        piece = Piece(name, attempt, time, deadline, work, self.in_system + 1, fails)
        if len(self.running) < self.pods:
            self.sheds(piece)
            self.running.append(piece)
        else:
            self.waiting.append(piece)

    def sheds(self, piece):
        rule = self.admission.codel
        wait = self.now - piece.arrived
        return rule is not None and sheds(rule.target_s, rule.interval_s, self.codel_state, self.now, wait)

    def fill(self):
        rules = self.admission
        while self.waiting and len(self.running) < self.pods:
            standing = self.pods if rules.standing is None else rules.standing
            newest = takes_newest(CODES[rules.discipline], len(self.waiting), standing)
            piece = self.waiting.pop(-1 if newest else 0)
            if self.sheds(piece):
                self.leaves(piece, "shed")
            elif rules.drop_expired and expired(piece.deadline, self.now, rules.least_s):
                self.leaves(piece, "expired")
            else:
                self.running.append(piece)

    def cancel(self, time, name):
        """The client of this one has gone."""
        self.until(time)
        for piece in self.waiting:
            if piece.name == name:
                self.waiting.remove(piece)
                self.leaves(piece, "cancelled")
                return

    def change(self, time, pods, factor):
        """Other capacity."""
        self.until(time)
        self.pods, self.factor = pods, factor
        self.fill()
