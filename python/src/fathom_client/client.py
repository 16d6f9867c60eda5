"""The clients."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Literal

import httpx

from .blocking import Portal
from .documents import D, decode
from .follow import LiveMessage, PathLike, follow
from .generated.api import DepthSeries, Tokens
from .generated.operations import AsyncOperations, Operations
from .http import Http, Options, Request, Wait
from .parameters import path_with
from .replay import AsyncReplay, Replay
from .series import whole_series
from .symbols import Symbols

DEFAULT_URL = "http://127.0.0.1:8080"
TOKENS = ("address", "token_address", "addresses", "token_addresses")
"""The parameters that name a token, and those that name several."""


def _options(
    url: str | None,
    key: str | None,
    retry: bool,
    on_wait: Callable[[Wait], None] | None,
    on_reply: Callable[[httpx.Headers, int], None] | None,
    verify: Any,
) -> Options:
    return Options(
        url=url or os.environ.get("FATHOM_URL") or DEFAULT_URL,
        key=key if key is not None else os.environ.get("FATHOM_KEY", ""),
        retry=retry,
        on_wait=on_wait,
        on_reply=on_reply,
        verify=verify,
    )


class AsyncClient(AsyncOperations):
    """A client of the API for asyncio. Use it in one event loop; close it, or use `async with`."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        retry: bool = True,
        on_wait: Callable[[Wait], None] | None = None,
        on_reply: Callable[[httpx.Headers, int], None] | None = None,
        verify: Any = True,
    ) -> None:
        """
        Args:
            url: the server's address; default: FATHOM_URL of the environment, or this machine.
            key: the API key; default: FATHOM_KEY of the environment.
            retry: whether to retry after 429, 500, 502 to 504 and lost connections.
            on_wait: called before every wait.
            on_reply: called with the headers and the status of every reply: limits, request id.
            verify: certificates of servers that count, as httpx takes it.

        Raises:
            ValueError: if the address is wrong.
        """
        self._http = Http(_options(url, key, retry, on_wait, on_reply, verify))
        self._symbols = Symbols(self._search)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.close()

    async def find_token(self, token: str) -> str:
        """The address of a token: of a symbol, looked up once. Costs a request then.

        Raises:
            TokenSymbolError: if no single token has the symbol.
        """
        return await self._symbols.address_of(token)

    async def _search(
        self, query: str, chain: Literal["mainchain", "evmchain", "all"], cursor: str | None
    ) -> Tokens:
        return await self.tokens(query, chain=chain, limit=100, cursor=cursor)

    async def _call(
        self, result: type[D], method: Literal["GET", "POST"], path: str, given: Mapping[str, Any]
    ) -> D:
        return decode(result, await self._document(method, path, given))

    async def _document(
        self, method: Literal["GET", "POST"], path: str, given: Mapping[str, Any]
    ) -> Any:
        parameters = {name: value for name, value in given.items() if value is not None}
        for name in TOKENS:
            if isinstance(value := parameters.get(name), str):
                parameters[name] = await self._symbols.address_of(value, given.get("chain"))
            elif value is not None:
                # One after the other: a symbol that is given twice is looked up once.
                parameters[name] = [
                    await self._symbols.address_of(token, given.get("chain")) for token in value
                ]
        if method == "POST":
            return await self._http.json(Request(method, path, body=parameters))
        return await self._http.json(Request(method, *path_with(path, parameters)))

    def _replay(self, given: Mapping[str, Any], ahead: int, progress: bool | None) -> AsyncReplay:
        return AsyncReplay(self._http, given, self._symbols.address_of, ahead, progress)

    async def _series(self, given: Mapping[str, Any]) -> DepthSeries:
        async def fetch(parameters: Mapping[str, Any]) -> dict[str, Any]:
            reply: dict[str, Any] = await self._document(
                "GET", "/depth-series/{address}", parameters
            )
            return reply

        return decode(DepthSeries, await whole_series(fetch, given))

    async def _follow(
        self, given: Mapping[str, Any], cursor_file: PathLike | None, heartbeats: bool
    ) -> AsyncIterator[LiveMessage]:
        address = await self._symbols.address_of(given["address"])
        messages = follow(self._http, {**given, "address": address}, cursor_file, heartbeats)
        try:
            async for message in messages:
                yield message
        finally:
            await messages.aclose()


class Client(Operations):
    """A client of the API. Usable from several threads; close it, or use `with`."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        retry: bool = True,
        on_wait: Callable[[Wait], None] | None = None,
        on_reply: Callable[[httpx.Headers, int], None] | None = None,
        verify: Any = True,
    ) -> None:
        """
        Args:
            url: the server's address; default: FATHOM_URL of the environment, or this machine.
            key: the API key; default: FATHOM_KEY of the environment.
            retry: whether to retry after 429, 500, 502 to 504 and lost connections.
            on_wait: called before every wait.
            on_reply: called with the headers and the status of every reply: limits, request id.
            verify: certificates of servers that count, as httpx takes it.

        Raises:
            ValueError: if the address is wrong.
        """
        self._make = partial(
            AsyncClient, url, key, retry=retry, on_wait=on_wait, on_reply=on_reply, verify=verify
        )
        self._begin()

    def _begin(self) -> None:
        self._inner = self._make()
        self._portal = Portal()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        if self._portal.process == os.getpid() and self._portal.is_open:
            self._portal.run(self._inner.close())
            self._portal.close()

    @property
    def _there(self) -> tuple[AsyncClient, Portal]:
        """The client in its thread. A forked process has neither, and makes its own."""
        if self._portal.process != os.getpid():
            self._begin()
        return self._inner, self._portal

    def find_token(self, token: str) -> str:
        """The address of a token: of a symbol, looked up once. Costs a request then.

        Raises:
            TokenSymbolError: if no single token has the symbol.
        """
        inner, portal = self._there
        return portal.run(inner.find_token(token))

    def _call(
        self, result: type[D], method: Literal["GET", "POST"], path: str, given: Mapping[str, Any]
    ) -> D:
        inner, portal = self._there
        return portal.run(inner._call(result, method, path, given))

    def _replay(self, given: Mapping[str, Any], ahead: int, progress: bool | None) -> Replay:
        inner, portal = self._there
        return Replay(inner._replay(given, ahead, progress), portal)

    def _series(self, given: Mapping[str, Any]) -> DepthSeries:
        inner, portal = self._there
        return portal.run(inner._series(given))

    def _follow(
        self, given: Mapping[str, Any], cursor_file: PathLike | None, heartbeats: bool
    ) -> Iterator[LiveMessage]:
        inner, portal = self._there
        return portal.iterate(inner._follow(given, cursor_file, heartbeats))
