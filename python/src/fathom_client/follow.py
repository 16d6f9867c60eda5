"""Follows a token's depth over Server-Sent Events, which need no WebSocket library."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any, Union

import httpx

from .documents import decode
from .errors import AuthError, FathomError, LimitError, NoReplyError, ServerError, quoted
from .generated.api import (
    LiveDeleted,
    LiveHeartbeat,
    LiveLagged,
    LiveReset,
    LiveRevised,
    LiveSnapshots,
    LiveSubscribed,
)
from .http import Http, Request, request_id_of
from .parameters import path_with, text_of
from .retries import RETRY_LIMITS, backoff_s, kind_of

PathLike = Union[str, "os.PathLike[str]"]
LiveMessage = Union[
    LiveSnapshots,
    LiveRevised,
    LiveDeleted,
    LiveReset,
    LiveLagged,
    LiveSubscribed,
    LiveHeartbeat,
]
"""A message of a subscription; `type` tells which.

`snapshots`: ones that you do not have yet. `revised`: ones that replace yours of the same `t`, or came
late. `deleted`: times that no longer have one. `reset`: the server does not know which revisions
followed the cursor. `lagged`: you read too slowly, and what you missed follows. `subscribed`: only if
history begins later than requested, or the token has no market of a requested venue. `heartbeat`: only
if you ask for them.
"""

TYPES: Mapping[str, type[LiveMessage]] = {
    "snapshots": LiveSnapshots,
    "revised": LiveRevised,
    "deleted": LiveDeleted,
    "reset": LiveReset,
    "lagged": LiveLagged,
    "subscribed": LiveSubscribed,
    "heartbeat": LiveHeartbeat,
}

SILENCE_S = 16.0
"""The server sends a heartbeat after 5 s: a connection that is silent for longer than this is lost."""
MAX_EVENT_BYTES = 32 * 1024 * 1024
"""The longest event. The server's have about 0.5 MB, unless a single snapshot is larger."""

STREAM_ID = "stream"
"""The id of the only subscription of an event stream, which its messages have."""

# What the server's close codes stand for.
CLOSED: Mapping[int, tuple[type[FathomError], int]] = {
    4401: (AuthError, 401),
    4403: (AuthError, 403),
    4429: (LimitError, 429),
}
RESTART = 1012
# The codes of a server that asks its clients to come again.
UNAVAILABLE = ("replay_busy", "archive_unavailable")


async def follow(
    http: Http, given: Mapping[str, Any], cursor_file: PathLike | None, heartbeats: bool
) -> AsyncGenerator[LiveMessage, None]:
    """
    Args:
        given: parameters of the stream, with `from` or `cursor`.
        cursor_file: keeps the cursor of the last message that the caller handled.
    """
    view = {name: value for name, value in given.items() if name not in ("from", "cursor")}
    # The server refuses both together.
    begin = {"from": given.get("from"), "cursor": given.get("cursor")}
    file = None
    if cursor_file is not None:
        given_view = {name: text_of(name, one) for name, one in view.items() if one is not None}
        file = CursorFile(Path(cursor_file), given_view)
    if file is not None and (kept := file.read()) is not None:
        begin = {"cursor": kept}
        if file.interrupted is not None:
            yield file.interrupted
            file.write(kept)
    failures = 0
    while True:
        response: httpx.Response | None = None
        try:
            path, query = path_with("/stream/{address}", {**view, **begin})
            request = Request("GET", path, query, accept="text/event-stream")
            response = await http.open(request, SILENCE_S)
            request_id = request_id_of(response.headers)
            retry_s = 0.0
            async for message in _messages(response):
                kind = message.get("type")
                if kind == "close":
                    raise _ended(message, retry_s, request_id)
                if kind == "error":
                    raise _failed(message, request_id)
                failures = 0
                begin = {"cursor": message["cursor"]}
                if kind == "closing":
                    retry_s = message["retry_ms"] / 1000
                elif _is_yielded(message, heartbeats):
                    if file is not None:
                        file.begin(message)
                    yield decode(TYPES[message["type"]], message)
                # Here, the caller has handled the message.
                if file is not None:
                    file.write(message["cursor"], message["next_from"])
            raise httpx.RemoteProtocolError("the connection was closed")
        except (FathomError, httpx.HTTPError) as error:
            failure = (
                error
                if isinstance(error, FathomError)
                else http.no_reply(error, f"the stream from {http.base} ended")
            )
            wait_kind = kind_of(failure) if http.retries else None
            if wait_kind is None:
                raise failure from failure.__cause__
            asked_s = failure.retry_after
            # A quota that is used up until the next month.
            if asked_s is not None and asked_s > RETRY_LIMITS[wait_kind].max_wait_s:
                raise failure from failure.__cause__
            if response is not None:
                await response.aclose()
            await http.wait(wait_kind, failure, backoff_s(asked_s, failures))
            failures += 1
        finally:
            if response is not None:
                await response.aclose()


class CursorFile:
    """A file with a cursor, and what it is of: it is there whole or not at all.

    While the caller handles a message with new snapshots, the file also has their times: if the caller
    ends then, nobody knows whether it has handled them, and the server would not tell that one of them
    has been deleted since.
    """

    def __init__(self, path: Path, request: Mapping[str, str]) -> None:
        """
        Args:
            request: the token and its view; a file of another one is refused.
        """
        self._path = path
        self._request = dict(request)
        self._written: str | None = None
        self._next_from: int | None = None
        self._is_handling = False
        self.interrupted: LiveDeleted | None = None
        """What to yield first: the run before may have handled these times, which come again."""

    def read(self) -> str | None:
        """The cursor; None if there is no file.

        Raises:
            ValueError: if this is another file, or of another request.
        """
        try:
            text = self._path.read_text()
        except FileNotFoundError:
            return None
        try:
            kept = json.loads(text)
            request, cursor = kept["request"], str(kept["cursor"])
            if (handling := kept.get("handling")) is not None:
                t, next_from = [int(one) for one in handling["t"]], int(handling["next_from"])
                self._is_handling = True
                self.interrupted = LiveDeleted(
                    type="deleted", id=STREAM_ID, t=t, next_from=next_from, cursor=cursor
                )
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"cursor_file: {self._path} is not a file of follow") from error
        if request != self._request:
            raise ValueError(
                f"cursor_file: {self._path} belongs to another request: {json.dumps(request)}"
            )
        self._written = cursor
        return cursor

    def begin(self, message: Mapping[str, Any]) -> None:
        """Call before the caller gets a message."""
        if message["type"] != "snapshots" or self._written is None:
            return
        t = [one["t"] for one in message["snapshots"]]
        if t:
            next_from = t[0] if self._next_from is None else self._next_from
            self._replace({"cursor": self._written, "handling": {"t": t, "next_from": next_from}})
            self._is_handling = True

    def write(self, cursor: str, next_from: int | None = None) -> None:
        """Call after the caller has handled everything up to a cursor."""
        self._next_from = next_from
        if cursor == self._written and not self._is_handling:
            return
        self._replace({"cursor": cursor})
        self._written = cursor
        self._is_handling = False

    def _replace(self, kept: Mapping[str, Any]) -> None:
        new = self._path.with_name(f"{self._path.name}.new")
        new.write_text(json.dumps({"request": self._request, **kept}) + "\n")
        new.replace(self._path)


def _is_yielded(message: Mapping[str, Any], heartbeats: bool) -> bool:
    if message["type"] == "subscribed":
        return message.get("clamped") is True or "venues_not_found" in message
    # A type that this client does not know comes from a newer server.
    return message["type"] in TYPES and (heartbeats or message["type"] != "heartbeat")


def _ended(message: Mapping[str, Any], retry_s: float, request_id: str | None) -> FathomError:
    code = message["code"]
    if code == RESTART:
        return NoReplyError("the server is stopping", retry_after=retry_s, request_id=request_id)
    text = f"the server closed the stream ({code}): {quoted(str(message['reason']))}"
    if code in CLOSED:
        cls, status = CLOSED[code]
        return cls(text, status=status, request_id=request_id)
    return NoReplyError(text, request_id=request_id)


def _failed(message: Mapping[str, Any], request_id: str | None) -> FathomError:
    given = [message.get("message"), message.get("error")]
    reason = next((one for one in given if isinstance(one, str)), "no reason given")
    code = message.get("error_code")
    asked_ms = message.get("retry_ms")
    return ServerError(
        f"the server ended the subscription: {quoted(reason)}",
        status=503 if code in UNAVAILABLE else None,
        code=code if isinstance(code, str) else "error",
        retry_after=asked_ms / 1000 if isinstance(asked_ms, (int, float)) else None,
        request_id=request_id,
    )


async def _messages(response: httpx.Response) -> AsyncGenerator[dict[str, Any], None]:
    """The messages of an event stream."""
    rest = bytearray()
    async for chunk in response.aiter_bytes():
        rest += chunk
        end = rest.rfind(b"\n\n")
        if end < 0:
            if len(rest) > MAX_EVENT_BYTES:
                raise httpx.DecodingError("an event that does not end")
            continue
        events = bytes(rest[:end]).split(b"\n\n")
        del rest[: end + 2]
        for event in events:
            for line in event.split(b"\n"):
                if line.startswith(b"data: "):
                    try:
                        yield json.loads(line[len(b"data: ") :])
                    except ValueError as error:
                        raise httpx.DecodingError("an event that is not JSON") from error
                    break
