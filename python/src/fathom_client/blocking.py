"""An event loop in a thread of its own: the blocking client is the asynchronous one, run there."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import weakref
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import wait
from typing import Any, TypeVar

T = TypeVar("T")


SIGNALS_S = 0.2
"""How long a signal may wait for its handler."""
STEP_END_S = 5
"""How long an iterator's step may take to end once it is cancelled."""


class Portal:
    """Runs coroutines in its thread, from any other thread; also where another loop runs already,
    as in notebooks."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._loop = asyncio.new_event_loop()
        # A daemon: a program ends without close().
        thread = threading.Thread(target=_serve, args=(self._loop,), name="fathom", daemon=True)
        thread.start()
        self._stop = weakref.finalize(self, _stop, self._loop, thread, self.process)

    @property
    def is_open(self) -> bool:
        return self._stop.alive

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result. An interruption (Ctrl-C) cancels it."""
        if not self.is_open or self.process != os.getpid():
            coroutine.close()
            reason = "is closed" if not self.is_open else "was made before the process forked"
            raise RuntimeError(f"this client {reason}: make another one")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            # polars' handler of Ctrl-C lets a wait go on: it has to end for Python's to run.
            while not future.done():
                wait([future], timeout=SIGNALS_S)
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, items: AsyncIterator[T]) -> Iterator[T]:
        """The items of an asynchronous iterator. It ends with the iteration."""
        step = asyncio.Lock()
        try:
            while True:
                try:
                    item = self.run(_next(items, step))
                except StopAsyncIteration:
                    return
                yield item
        finally:
            if self.is_open and self.process == os.getpid():
                self.run(_close(items, step))

    def close(self) -> None:
        """Stops the thread."""
        self._stop()


async def _next(items: AsyncIterator[T], step: asyncio.Lock) -> T:
    async with step:
        return await items.__anext__()


async def _close(items: AsyncIterator[Any], step: asyncio.Lock) -> None:
    close = getattr(items, "aclose", None)
    if close is None:
        return
    # An interruption only asks the step to end; until it has, the iterator cannot be closed.
    try:
        await asyncio.wait_for(step.acquire(), STEP_END_S)
    except (asyncio.TimeoutError, TimeoutError):
        return
    await close()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    is_stopped = False
    while not is_stopped:
        # What a caller's callback raises is the caller's, and must not end the loop for all.
        with contextlib.suppress(KeyboardInterrupt, SystemExit):
            loop.run_forever()
            is_stopped = True
    pending = asyncio.all_tasks(loop)
    for task in pending:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread, process: int) -> None:
    # A fork has the loop, but not its thread.
    if process != os.getpid() or loop.is_closed():
        return
    loop.call_soon_threadsafe(loop.stop)
    if thread is not threading.current_thread():
        thread.join()
