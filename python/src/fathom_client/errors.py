"""Errors of requests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .generated.api import FoundToken

WaitKind = Literal["busy", "limited", "connection"]
"""Why a request is retried: the server is busy, a limit is reached, or the server is unavailable."""

MAX_QUOTED_CHARS = 500
"""Maximum length of a quoted message of a server."""


class FathomError(Exception):
    """A request failed, retries included. The message quotes the server.

    Attributes:
        status: HTTP status; None if no reply came, or nothing was sent.
        code: `error_code` of the reply, or None.
        parameter: the refused parameter, by its name in the API; None if the failure has another cause.
        request_id: `X-Request-Id` of the reply, or None. Quote it when you report a problem.
        retry_after: seconds to wait that the reply asks for, or None.
        fields: the reply's other fields (`chain`, `supported_chains`, `mismatched_addresses`, ...).
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        parameter: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        fields: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.parameter = parameter
        self.request_id = request_id
        self.retry_after = retry_after
        self.fields = fields or {}

    def extended(self, words: str) -> FathomError:
        """The same error, with more words."""
        error = type(self)(
            f"{self}; {words}",
            status=self.status,
            code=self.code,
            parameter=self.parameter,
            request_id=self.request_id,
            retry_after=self.retry_after,
            fields=self.fields,
        )
        error.__cause__ = self.__cause__
        return error


class RequestError(FathomError):
    """The request is wrong (400, 404, 405, 406, ...), or was refused before it was sent."""


class AuthError(FathomError):
    """The key is wrong or expired (401), or its tier is too low for the endpoint (403)."""


class LimitError(FathomError):
    """The key's rate or quota is used up (429)."""


class ServerError(FathomError):
    """The server is busy, stopping or broken (500 and above), or did not answer as Fathom does."""


class NoReplyError(FathomError):
    """No reply came: nobody listens, or the connection was lost or silent for too long."""


class TokenSymbolError(RequestError):
    """No token, or no single one, has the symbol.

    Attributes:
        candidates: the tokens that have the symbol, scored ones first, or similar ones if none has it.
    """

    def __init__(
        self,
        message: str,
        *,
        code: Literal["unknown_symbol", "ambiguous_symbol"],
        candidates: Sequence[FoundToken],
    ) -> None:
        super().__init__(message, code=code)
        self.candidates = list(candidates)


def error_class(status: int) -> type[FathomError]:
    """The class for an HTTP status."""
    if status in (401, 403):
        return AuthError
    if status == 429:
        return LimitError
    return RequestError if 400 <= status < 500 else ServerError


def quoted(text: str) -> str:
    """A server's text, safe to show on a terminal: one bounded line without control characters."""
    line = re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", text).strip()
    return line if len(line) <= MAX_QUOTED_CHARS else f"{line[:MAX_QUOTED_CHARS]}..."


def no_progress(start: int) -> FathomError:
    """The error of a server whose `next_from` does not advance."""
    return ServerError(f"the server makes no progress: its next page is {start} again", status=200)
