"""How often, and for how long, a request is retried; as client/retries.ts does it."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from .errors import FathomError, WaitKind


@dataclass(frozen=True)
class RetryLimit:
    max_tries: int
    """Tries of a request, including the first."""
    max_wait_s: float
    """All waits of a request together."""


RETRY_LIMITS: Mapping[WaitKind, RetryLimit] = {
    "busy": RetryLimit(max_tries=120, max_wait_s=180),
    "limited": RetryLimit(max_tries=20, max_wait_s=600),
    "connection": RetryLimit(max_tries=9, max_wait_s=60),
}

# Where the server asks for no wait, waits double from the first to the longest, and half as much
# again at random.
FIRST_WAIT_S = 0.25
LONGEST_WAIT_S = 10.0
# Spreads the retries of clients of which the server asked the same wait.
JITTER_S = 0.1

PASSING_STATUSES = (500, 502, 503, 504)
"""Statuses of a server, or a proxy in front of it, that is briefly unavailable."""


def backoff_s(asked_s: float | None, failures: int) -> float:
    """How long to wait before another try, at random, so that clients do not return together.

    Args:
        asked_s: the wait that the server asks for; None: waits double from try to try.
        failures: failed tries in a row before the one that failed last.
    """
    if asked_s is not None:
        return asked_s + random.random() * JITTER_S
    wait_s: float = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(failures, 30))
    return wait_s * (1 + random.random() / 2)


@dataclass
class _Spent:
    tries: int = 1
    waited_s: float = 0.0


@dataclass
class Retries:
    """Counts the tries of one request."""

    _spent: dict[WaitKind, _Spent] = field(
        default_factory=lambda: {kind: _Spent() for kind in RETRY_LIMITS}
    )

    def next(self, kind: WaitKind, failure: FathomError) -> float:
        """How long to wait before the next try, in seconds.

        Raises:
            FathomError: `failure` with the reason for giving up, once tries or time are used up.
        """
        limit = RETRY_LIMITS[kind]
        spent = self._spent[kind]
        wait_s = backoff_s(failure.retry_after, spent.tries - 1)
        if spent.tries >= limit.max_tries:
            raise failure.extended(f"gave up after {limit.max_tries} tries")
        if spent.waited_s + wait_s > limit.max_wait_s + JITTER_S:
            waited = f"having waited {seconds_text(spent.waited_s)}, " if spent.waited_s else ""
            raise failure.extended(
                f"gave up: {waited}the next wait would be {seconds_text(wait_s)}, "
                f"and the limit is {seconds_text(limit.max_wait_s)}"
            )
        spent.tries += 1
        spent.waited_s += wait_s
        return wait_s


def kind_of(failure: FathomError) -> WaitKind | None:
    """Why another try may succeed; None: it would not."""
    if failure.status is None:
        return "connection" if failure.code is None and failure.parameter is None else None
    if failure.status == 429:
        # Fathom asks for no wait where none helps: the request costs more than the quota. A proxy
        # may just not say.
        hopeless = failure.retry_after is None and failure.request_id is not None
        return None if hopeless else "limited"
    if failure.code == "damaged_data" or failure.status not in PASSING_STATUSES:
        return None
    return "busy" if failure.code == "replay_busy" else "connection"


def retry_after_s(text: str | None) -> float | None:
    """Seconds of a Retry-After header (RFC 9110, 10.2.3): seconds, or a date; None without one."""
    text = (text or "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=timezone.utc)
    return max(0.0, (date - datetime.now(timezone.utc)).total_seconds())


def seconds_text(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
