"""The order of requests while the key's rate limit is reached: one at a time, the first one first."""

from __future__ import annotations

import asyncio
import time


class RateQueue:
    """As client/rate-queue.ts. For one event loop."""

    def __init__(self) -> None:
        self._places = 0
        self._is_limited = False
        self._until = 0.0
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._current: int | None = None
        self._timer: asyncio.TimerHandle | None = None

    def place(self) -> int:
        """The place of a new request."""
        self._places += 1
        return self._places

    async def begin(self, place: int) -> None:
        """Waits until a request may be sent."""
        if not self._is_limited:
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((place, turn))
        self._waiting.sort(key=lambda one: one[0])
        self._next()
        try:
            await turn
        except asyncio.CancelledError:
            self._waiting = [one for one in self._waiting if one[1] is not turn]
            self.end(place, 0)
            raise

    def limit(self, wait_s: float) -> None:
        """The limit is reached, and applies to all requests of the key."""
        self._is_limited = True
        self._until = max(self._until, time.monotonic() + wait_s)

    def end(self, place: int, left: float) -> None:
        """A request has ended.

        Args:
            left: how many more requests the limit leaves room for.
        """
        # One that was sent before the limit holds no turn to release.
        if self._current != place:
            return
        self._current = None
        if left <= len(self._waiting):
            self._next()
            return
        self._is_limited = False
        for _, turn in self._waiting:
            _grant(turn)
        self._waiting = []

    def _next(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._current is not None or not self._waiting:
            return
        wait_s = self._until - time.monotonic()
        if wait_s > 0:
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._next)
            return
        place, turn = self._waiting.pop(0)
        self._current = place
        _grant(turn)


def _grant(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
