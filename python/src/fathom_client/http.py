"""Requests, with retries while the server is busy, limits the rate or is unreachable."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx

from .errors import (
    AuthError,
    FathomError,
    NoReplyError,
    ServerError,
    WaitKind,
    error_class,
    quoted,
)
from .rate_queue import RateQueue
from .retries import Retries, kind_of, retry_after_s, seconds_text

API_PATH = "/api/v1"
# A key with the whitespace that headers trim; other characters may be illegal in a header.
KEY_FORM = re.compile(r"[ \t\r\n]*[\x21-\x7e]*[ \t\r\n]*")
SILENCE_LIMIT_S = 60.0
"""A try fails when the server sends nothing for this long."""
MAX_BODY_BYTES = 128 * 1024 * 1024
"""Maximum size of a decoded body; no full page reaches it."""


@dataclass(frozen=True)
class Wait:
    """A wait before the next try."""

    kind: WaitKind
    message: str
    """Says what happened, and when the next try starts."""
    wait_s: float


@dataclass(frozen=True)
class Request:
    method: Literal["GET", "POST"]
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    accept: str = "application/json"
    body: Any = None


@dataclass(frozen=True)
class Reply:
    """A reply of status 200, its content decoded."""

    headers: httpx.Headers
    content: bytes

    @property
    def request_id(self) -> str | None:
        return request_id_of(self.headers)


@dataclass(frozen=True)
class Options:
    """What a client is made with."""

    url: str
    key: str
    retry: bool = True
    on_wait: Callable[[Wait], None] | None = None
    on_reply: Callable[[httpx.Headers, int], None] | None = None
    verify: Any = True


class Http:
    """For one event loop."""

    def __init__(self, options: Options) -> None:
        self.base = base_of(options.url)
        self._options = options
        self._queue = RateQueue()
        self._client = httpx.AsyncClient(
            headers={
                "accept-encoding": "gzip",
                "user-agent": "fathom-client",
            },
            timeout=httpx.Timeout(SILENCE_LIMIT_S, pool=None),
            # As many as are asked for: the rate queue and `ahead` bound them.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            # A redirect would send the key elsewhere.
            follow_redirects=False,
            verify=options.verify,
        )

    async def close(self) -> None:
        await self._client.aclose()

    @property
    def retries(self) -> bool:
        return self._options.retry

    async def request(self, request: Request) -> Reply:
        """
        Raises:
            FathomError: once no further try may succeed.
        """
        retries = Retries()
        place = self._queue.place()
        while True:
            await self._queue.begin(place)
            left = 0.0
            pause_s = 0.0
            try:
                outcome = await self._attempt(request)
                if isinstance(outcome, Reply):
                    left = _left_of(outcome.headers)
                    return outcome
                kind = kind_of(outcome)
                if kind is None or not self.retries:
                    raise outcome
                wait_s = retries.next(kind, outcome)
                self._tell(kind, outcome, wait_s)
                if kind == "limited":
                    self._queue.limit(wait_s)
                else:
                    pause_s = wait_s
            finally:
                self._queue.end(place, left)
            await asyncio.sleep(pause_s)

    async def json(self, request: Request) -> Any:
        """The document of a JSON reply."""
        reply = await self.request(request)
        return json_of(self.base, reply, reply.content)

    async def open(self, request: Request, silence_s: float) -> httpx.Response:
        """One try of a request whose reply is read as it comes. Close it.

        Args:
            silence_s: a read fails when the server sends nothing for this long.
        """
        response = await self._send(request, silence_s)
        try:
            if response.status_code == 200:
                return response
            content = await self._body(response)
        except httpx.HTTPError as error:
            await response.aclose()
            raise self.no_reply(error) from error
        await response.aclose()
        raise failure_of(self.base, response, content)

    async def wait(self, kind: WaitKind, failure: FathomError, wait_s: float) -> None:
        """Waits, and calls `on_wait`."""
        self._tell(kind, failure, wait_s)
        await asyncio.sleep(wait_s)

    def no_reply(self, cause: Exception, what: str | None = None) -> FathomError:
        """The error of a try without a reply, or without the rest of it."""
        reason = quoted(str(cause)) or type(cause).__name__
        if isinstance(cause, httpx.ReadTimeout):
            reason = "the server was silent for too long"
        error = NoReplyError(f"{what or f'no reply from {self.base}'} ({reason})")
        error.__cause__ = cause
        return error

    def _tell(self, kind: WaitKind, failure: FathomError, wait_s: float) -> None:
        if self._options.on_wait is not None:
            message = f"{failure}; trying again in {seconds_text(wait_s)}"
            self._options.on_wait(Wait(kind, message, wait_s))

    async def _attempt(self, request: Request) -> Reply | FathomError:
        try:
            response = await self._send(request, SILENCE_LIMIT_S)
        except NoReplyError as error:
            return error
        try:
            content = await self._body(response)
        except httpx.HTTPError as error:
            return self.no_reply(error)
        finally:
            await response.aclose()
        if self._options.on_reply is not None:
            self._options.on_reply(response.headers, response.status_code)
        if response.status_code == 200:
            return Reply(response.headers, content)
        return failure_of(self.base, response, content)

    async def _send(self, request: Request, silence_s: float) -> httpx.Response:
        if not KEY_FORM.fullmatch(self._options.key):
            # The server's status for a wrong key.
            raise AuthError(
                "key: expected an API key; this text has characters that keys never have",
                status=401,
            )
        headers = {"accept": request.accept, "x-api-key": self._options.key.strip()}
        if request.accept == "text/event-stream":
            headers["accept-encoding"] = "identity"
        try:
            return await self._client.send(
                self._client.build_request(
                    request.method,
                    f"{self.base}{API_PATH}{request.path}",
                    params=request.query,
                    headers=headers,
                    json=request.body,
                    timeout=httpx.Timeout(SILENCE_LIMIT_S, read=silence_s, pool=None),
                ),
                stream=True,
            )
        except httpx.HTTPError as error:
            raise self.no_reply(error) from error

    async def _body(self, response: httpx.Response) -> bytes:
        chunks = []
        size = 0
        async for chunk in response.aiter_bytes():
            size += len(chunk)
            if size > MAX_BODY_BYTES:
                raise httpx.DecodingError(f"a reply of more than {MAX_BODY_BYTES} bytes")
            chunks.append(chunk)
        return b"".join(chunks)


def base_of(url: str) -> str:
    """The server's address, without a slash at its end."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ValueError(
            f"url: expected an address such as http://127.0.0.1:8080; was '{quoted(url)}'"
        )
    base = str(parsed.copy_with(query=None, fragment=None)).rstrip("/")
    if base.endswith(API_PATH):
        raise ValueError(f"url: expected the server's address without {API_PATH}")
    return base


def json_of(base: str, reply: Reply, text: bytes | str) -> Any:
    """A part of a reply that must be JSON."""
    try:
        return json.loads(text)
    except ValueError as cause:
        raise ServerError(
            f"{base} did not answer with JSON", status=200, request_id=reply.request_id
        ) from cause


def failure_of(base: str, response: httpx.Response, content: bytes) -> FathomError:
    """The error of a reply whose status is not 200."""
    text = content.decode(errors="replace")
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = None
    fields: dict[str, Any] = dict(parsed) if isinstance(parsed, dict) else {}
    message, error, code, parameter = (
        value if isinstance(value, str) else None
        for value in (
            fields.pop(name, None) for name in ("message", "error", "error_code", "parameter")
        )
    )
    location = response.headers.get("location")
    reason = message or error or (f"redirected to {location}" if location else text)
    status = response.status_code
    return error_class(status)(
        f"{base} answered {status}: {quoted(reason or 'no reason given')}",
        status=status,
        code=code,
        parameter=None if parameter is None else quoted(parameter),
        request_id=request_id_of(response.headers),
        retry_after=retry_after_s(response.headers.get("retry-after")),
        fields=fields,
    )


def request_id_of(headers: httpx.Headers) -> str | None:
    request_id = headers.get("x-request-id")
    return None if request_id is None else quoted(request_id)


def _left_of(headers: httpx.Headers) -> float:
    """How many more requests the key's limit leaves room for; infinite if the reply does not say."""
    try:
        return float(headers.get("x-ratelimit-remaining", "inf"))
    except ValueError:
        return float("inf")
