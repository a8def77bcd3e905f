"""What the client is told: a status for every fate, and when a refused one may come again."""

from __future__ import annotations

import math
from collections.abc import Mapping

from aiohttp import web

from target_service.gate import Fate

RETRY_AFTER_HEADER = "Retry-After"
"""Whole seconds, RFC 9110 §10.2.3; rounded up."""
RETRY_AFTER_MS_HEADER = "retry-after-ms"
"""The same in milliseconds, unrounded, as Azure's and Stainless-generated SDKs read it."""

STATUSES: dict[Fate, int] = {"ok": 200, "error": 500, "rejected": 503, "shed": 503, "expired": 504}
_OK = b"ok\n"


class Answers:
    """The answers of one service, whose 503s say ``retry_after_s`` (None: they do not say)."""

    def __init__(self, retry_after_s: float | None) -> None:
        self._refused = {} if retry_after_s is None else retry_after_headers(retry_after_s)

    def answer(self, fate: Fate, reason: str, headers: Mapping[str, str] | None) -> web.Response:
        """The answer to an attempt that left like this, with ``headers`` of its own."""
        if fate == "ok":
            return web.Response(body=_OK, headers=headers)
        status = STATUSES[fate]
        if status == 503:
            headers = {**self._refused, **(headers or {})}
        text = f"{fate}: {reason}\n" if reason else f"{fate}\n"
        return web.Response(body=text.encode(), status=status, headers=headers)


def retry_after_headers(retry_after_s: float) -> dict[str, str]:
    """Both notations of a wait; the exact one has microseconds."""
    exact = f"{retry_after_s * 1e3:.3f}".rstrip("0").rstrip(".")
    return {RETRY_AFTER_HEADER: str(math.ceil(retry_after_s)), RETRY_AFTER_MS_HEADER: exact}
