"""When garbage is collected: never while something is asked, and only if there is some."""

from __future__ import annotations

import asyncio
import gc

import pytest

from target_service import collecting


@pytest.mark.parametrize(
    ("in_system", "left", "collections"),
    [
        pytest.param(0, [0, 1_000, 1_000, 1_999, 2_000], 2, id="each thousand that has left, once"),
        pytest.param(1, [0, 5_000, 9_000, 9_000, 9_000], 0, id="never while one waits"),
        pytest.param(0, [0, 999, 999, 999, 999], 0, id="not for a few"),
    ],
)
def test_collected_when_idle(
    monkeypatch: pytest.MonkeyPatch, in_system: int, left: list[int], collections: int
) -> None:
    done: list[int] = []
    ticks = iter(left[1:])
    seen = [left[0]]

    async def next_look(_delay_s: float) -> None:
        try:
            seen.append(next(ticks))
        except StopIteration:
            raise asyncio.CancelledError from None

    monkeypatch.setattr(collecting.asyncio, "sleep", next_look)
    monkeypatch.setattr(gc, "collect", lambda: done.append(1))

    async def look() -> None:
        with pytest.raises(asyncio.CancelledError):
            await collecting.collect_when_idle(lambda: in_system, lambda: seen[-1])

    asyncio.run(look())
    assert len(done) == collections
