"""Parameters of requests as the API takes them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any, Union
from urllib.parse import quote

from .errors import RequestError

Time = Union[int, float, str, datetime, date]
"""Epoch seconds, a datetime with a zone, a date (midnight UTC), or text as the API takes it: `-24h`."""

TIMES = ("from", "to", "at")
"""Parameters that are times."""


def path_with(path: str, parameters: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """A path with its variable segments filled in, and the query.

    Raises:
        RequestError: if a segment has no value, or a value cannot be sent.
    """
    query: dict[str, str] = {}
    for name, value in parameters.items():
        if value is None:
            continue
        text = text_of(name, value)
        segment = f"{{{name}}}"
        if segment not in path:
            query[name] = text
        elif text:
            path = path.replace(segment, quote(text, safe=""))
    missing = re.search(r"\{(\w+)\}", path)
    if missing:
        raise RequestError(f"{missing[1]}: expected a value", parameter=missing[1])
    return path, query


def text_of(name: str, value: Any) -> str:
    """A parameter's value as text. Of times, fractions of seconds are rounded up, as the API does."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        if value.tzinfo is None:
            message = f"{name}: expected a datetime with a time zone, such as tzinfo=timezone.utc"
            raise RequestError(message, parameter=name)
        return str(math.ceil(value.timestamp()))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        if not math.isfinite(value):
            raise RequestError(f"{name}: expected a finite number", parameter=name)
        # 2.0 is 2.
        whole = math.ceil(value) if name in TIMES else int(value)
        return str(whole) if name in TIMES or whole == value else repr(float(value))
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return ",".join(text_of(name, item) for item in value)
    return str(value)
