"""The pages of a window: fetched side by side by the plan, and handed out in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from .errors import FathomError, no_progress
from .generated.api import ReplayPlan

T = TypeVar("T")

MAX_AHEAD = 16


@dataclass(frozen=True)
class Rest:
    """The rest of a window, epoch seconds."""

    start: int
    end: int


@dataclass(frozen=True)
class Page(Generic[T]):
    """A page, and where the next one begins."""

    data: T
    start: int
    """The window's, epoch seconds."""
    end: int
    next_from: int | None
    cells: int
    snapshots: int

    @property
    def rest(self) -> Rest | None:
        return None if self.next_from is None else Rest(self.next_from, self.end)


FetchPage = Callable[["Rest | None"], Awaitable[Page[T]]]
FetchPlan = Callable[[Rest], Awaitable[ReplayPlan]]


async def in_order(
    fetch_page: FetchPage[T],
    fetch_plan: FetchPlan,
    ahead: int,
    rest: Rest | None = None,
    on_plan: Callable[[ReplayPlan], None] | None = None,
) -> AsyncGenerator[Page[T], None]:
    """Fetches the first page, then the pages of the plan, `ahead` at a time.

    If a page does not end where the plan says, data have changed: later pages are dropped, and the
    rest is planned again.

    Args:
        ahead: with 1, no plan is requested.
        rest: continues there, instead of with the first page.
    """
    if rest is None:
        first = await fetch_page(None)
        yield first
        rest = first.rest
    while rest is not None:
        end = rest.end
        starts = [rest.start] if ahead == 1 else await _starts(fetch_plan, rest, on_plan)
        if not starts:
            return
        # Those whose turn has not come: pages that were handed out are no longer held.
        begun: deque[asyncio.Future[Page[T]]] = deque()
        try:
            for index, start in enumerate(starts):
                while len(begun) < min(ahead, len(starts) - index):
                    begin = Rest(starts[index + len(begun)], end)
                    begun.append(asyncio.ensure_future(fetch_page(begin)))
                page = await begun[0]
                begun.popleft()
                yield page
                rest = page.rest
                if rest is not None and rest.start <= start:
                    raise no_progress(rest.start)
                following = starts[index + 1] if index + 1 < len(starts) else None
                if following is not None and page.next_from != following:
                    break
        finally:
            for one in begun:
                one.cancel()
            # Also takes the failures of pages whose turn never comes.
            await asyncio.gather(*begun, return_exceptions=True)


async def _starts(
    fetch_plan: FetchPlan, rest: Rest, on_plan: Callable[[ReplayPlan], None] | None
) -> list[int]:
    """Starts of the remaining pages; only the first one if the server has no plans."""
    try:
        plan = await fetch_plan(rest)
    except FathomError as error:
        if error.status == 404:
            return [rest.start]
        raise
    if on_plan is not None:
        on_plan(plan)
    return [page.from_ for page in plan.pages]
