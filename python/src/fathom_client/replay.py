"""Depth history of a window: pages, or one table of its cells."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Union

from . import tables
from .arrow_metadata import schema_metadata
from .blocking import Portal
from .documents import decode, import_or_say
from .errors import ServerError
from .generated.api import ReplayPage, ReplayPlan
from .http import Http, Reply, Request, json_of
from .paging import MAX_AHEAD, Page, Rest, in_order
from .parameters import path_with, text_of
from .parquet import PartialFile
from .progress import Progress

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

T = TypeVar("T")
PathLike = Union[str, "os.PathLike[str]"]
AddressOf = Callable[[], "asyncio.Future[str]"]

PATH = "/replay/{address}"


@dataclass
class _Collected(Generic[T]):
    """What has come of a window so far, in one format."""

    pages: list[T] = field(default_factory=list)
    rest: Rest | None = None

    @property
    def is_complete(self) -> bool:
        return bool(self.pages) and self.rest is None


class AsyncReplay:
    """A window of a token's depth history, which is fetched when it is asked for.

    What has come stays: the next table, also after an error or an interruption, continues where the
    last one stopped. All of them are of the same window, even if it was given relative to now.
    """

    def __init__(
        self,
        http: Http,
        given: Mapping[str, Any],
        address_of: Callable[[str], Any],
        ahead: int,
        progress: bool | None,
    ) -> None:
        if isinstance(ahead, bool) or not isinstance(ahead, int) or not 1 <= ahead <= MAX_AHEAD:
            raise ValueError(f"ahead: expected a whole number from 1 to {MAX_AHEAD}")
        self._http = http
        self._given = dict(given)
        self._address_of = address_of
        self._ahead = ahead
        self._progress = progress
        self._window: Rest | None = None
        self._arrow = _Collected[bytes]()
        self._columns = _Collected[tables.Columns]()

    @property
    def window(self) -> tuple[int, int] | None:
        """Start (included) and end (excluded), epoch seconds; None before the first page."""
        return None if self._window is None else (self._window.start, self._window.end)

    async def pages(self) -> AsyncIterator[ReplayPage]:
        """The pages in order, as the API sends them. Keeps none of them."""

        def read(reply: Reply) -> Page[ReplayPage]:
            page = decode(ReplayPage, json_of(self._http.base, reply, reply.content))
            return self._page(page, page.to_dict() | {"snapshots": None})

        async for page in self._fetch(tables.JSON, read):
            yield page.data

    async def to_arrow(self) -> pyarrow.Table:
        """One row per cell. Texts are dictionaries. Needs the extra `arrow`."""
        import_or_say("pyarrow", "arrow")
        contents = await self._collect(self._arrow, tables.ARROW, self._read_arrow)
        return await asyncio.to_thread(tables.arrow_table, contents)

    async def to_polars(self) -> polars.DataFrame:
        """One row per cell. Texts are categories. Needs the extra `polars`."""
        import_or_say("polars", "polars")
        contents = await self._collect(self._arrow, tables.ARROW, self._read_arrow)
        return await asyncio.to_thread(tables.polars_table, contents)

    async def to_pandas(self) -> pandas.DataFrame:
        """One row per cell. Texts are categories. Needs the extra `pandas`; faster with `arrow`."""
        import_or_say("pandas", "pandas")
        if importlib.util.find_spec("pyarrow") is not None:
            return await asyncio.to_thread(tables.pandas_of_arrow, await self.to_arrow())
        columns = await self._collect(self._columns, tables.JSON, self._read_columns)
        return await asyncio.to_thread(tables.pandas_of_columns, columns)

    async def to_parquet(self, path: PathLike) -> Path:
        """Writes one row per cell, page by page, in bounded memory; replaces a file that is there.

        Until the file is whole, its pages are in the folder `PATH.part`: the same call continues
        with them after an interruption, in another process too. Needs the extra `arrow` or `polars`.
        """
        file = Path(path)
        address = await self._address()
        request = {
            **{
                name: text_of(name, value)
                for name, value in self._given.items()
                if value is not None
            },
            "address": address,
            "url": self._http.base,
        }
        is_relative = any(_is_relative(self._given.get(name)) for name in ("from", "to"))
        part = await asyncio.to_thread(PartialFile, file, request, is_relative)
        if part.state.window is not None:
            self._window = part.state.window
        if not part.is_complete:
            async for page in self._fetch(tables.ARROW, self._read_arrow, part.state.rest):
                await asyncio.to_thread(part.add, page)
        return await asyncio.to_thread(part.finish)

    async def _collect(
        self, collected: _Collected[T], accept: str, read: Callable[[Reply], Page[T]]
    ) -> list[T]:
        if not collected.is_complete:
            async for page in self._fetch(accept, read, collected.rest):
                collected.pages.append(page.data)
                collected.rest = page.rest
        return collected.pages

    async def _address(self) -> str:
        address: str = await self._address_of(str(self._given["address"]))
        return address

    async def _fetch(
        self, accept: str, read: Callable[[Reply], Page[T]], rest: Rest | None = None
    ) -> AsyncIterator[Page[T]]:
        parameters = {**self._given, "address": await self._address()}
        if self._window is not None:
            parameters.update({"from": self._window.start, "to": self._window.end})

        def request(path: str, of: Rest | None, kind: str) -> Request:
            window = {} if of is None else {"from": of.start, "to": of.end}
            return Request("GET", *path_with(path, {**parameters, **window}), kind)

        async def fetch_page(of: Rest | None) -> Page[T]:
            reply = await self._http.request(request(PATH, of, accept))
            return await asyncio.to_thread(read, reply)

        async def fetch_plan(of: Rest) -> ReplayPlan:
            return decode(
                ReplayPlan, await self._http.json(request(f"{PATH}/plan", of, tables.JSON))
            )

        progress = Progress(str(self._given["address"]), self._progress)
        pages = in_order(fetch_page, fetch_plan, self._ahead, rest, progress.plan)
        try:
            async for page in pages:
                if self._window is None:
                    self._window = Rest(page.start, page.end)
                progress.page(page.cells)
                yield page
        finally:
            await pages.aclose()
            progress.end()

    def _page(self, data: T, head: Mapping[str, Any]) -> Page[T]:
        """A page of its data and the page's fields in JSON."""
        window = head["window"]
        return Page(
            data,
            start=window["from"],
            end=window["to"],
            next_from=head["next_from"],
            cells=head["row_count"],
            snapshots=head["snapshot_count"],
        )

    def _read_arrow(self, reply: Reply) -> Page[bytes]:
        try:
            head = schema_metadata(reply.content)["page"]
        except (ValueError, KeyError) as error:
            message = f"{self._http.base} did not answer with an Arrow stream"
            raise ServerError(message, status=200, request_id=reply.request_id) from error
        return self._page(reply.content, json_of(self._http.base, reply, head))

    def _read_columns(self, reply: Reply) -> Page[tables.Columns]:
        page = json_of(self._http.base, reply, reply.content)
        return self._page(tables.columns_of(page), page)


def _is_relative(time: Any) -> bool:
    """Whether a time depends on the clock. Texts may: `-24h`, `now`; a time that is left out does."""
    if time is None:
        return True
    return isinstance(time, str) and not time[:4].isdigit() and not isinstance(time, date)


class Replay:
    """A window of a token's depth history, which is fetched when it is asked for.

    What has come stays: the next table, also after an error or an interruption, continues where the
    last one stopped. All of them are of the same window, even if it was given relative to now.
    """

    def __init__(self, inner: AsyncReplay, portal: Portal) -> None:
        self._inner = inner
        self._portal = portal

    @property
    def window(self) -> tuple[int, int] | None:
        """Start (included) and end (excluded), epoch seconds; None before the first page."""
        return self._inner.window

    def pages(self) -> Iterator[ReplayPage]:
        """The pages in order, as the API sends them. Keeps none of them."""
        return self._portal.iterate(self._inner.pages())

    def to_arrow(self) -> pyarrow.Table:
        """One row per cell. Texts are dictionaries. Needs the extra `arrow`."""
        return self._portal.run(self._inner.to_arrow())

    def to_polars(self) -> polars.DataFrame:
        """One row per cell. Texts are categories. Needs the extra `polars`."""
        return self._portal.run(self._inner.to_polars())

    def to_pandas(self) -> pandas.DataFrame:
        """One row per cell. Texts are categories. Needs the extra `pandas`; faster with `arrow`."""
        return self._portal.run(self._inner.to_pandas())

    def to_parquet(self, path: PathLike) -> Path:
        """Writes one row per cell, page by page, in bounded memory; replaces a file that is there.

        Until the file is whole, its pages are in the folder `PATH.part`: the same call continues
        with them after an interruption, in another process too. Needs the extra `arrow` or `polars`.
        """
        return self._portal.run(self._inner.to_parquet(path))
