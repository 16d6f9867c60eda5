"""Depth over time: replies joined to one document, and its table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timezone
from typing import Any

from .documents import Document
from .errors import no_progress

Fetch = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]
PER_POINT = ("t", "snapshot_t", "price_usd", "score")
SIDES = ("support_usd", "resistance_usd")


async def whole_series(fetch: Fetch, given: Mapping[str, Any]) -> dict[str, Any]:
    """All replies of a window as one, all with the step of the first one."""
    replies = [await fetch(given)]
    while (start := replies[-1]["next_from"]) is not None:
        last = replies[-1]
        if not last["t"] or (len(replies) > 1 and start <= replies[-2]["next_from"]):
            raise no_progress(start)
        rest = {"from": start, "to": last["window"]["to"], "step": last["step"]}
        replies.append(await fetch({**given, **rest}))
    return joined(replies)


def joined(replies: list[dict[str, Any]]) -> dict[str, Any]:
    """Replies of neighbouring windows as one. A group without depth in a reply has 0 there."""
    first = replies[0]
    whole = {**first, "window": {**first["window"], "to": replies[-1]["window"]["to"]}}
    whole["next_from"] = None
    for name in PER_POINT:
        if name in first:
            whole[name] = [value for reply in replies for value in reply[name]]
    groups = {group["key"]: group for reply in replies for group in reply.get("groups") or []}
    if "groups" in first:
        whole["groups"] = list(groups.values())
    for side in SIDES:
        if "groups" in first:
            whole[side] = [
                _rows([_of_group(reply, side, key, len(first["pct"])) for reply in replies])
                for key in groups
            ]
        else:
            whole[side] = _rows([reply[side] for reply in replies])
    return whole


def _of_group(reply: dict[str, Any], side: str, key: str, percents: int) -> list[list[float]]:
    keys = [group["key"] for group in reply["groups"]]
    if key in keys:
        amounts: list[list[float]] = reply[side][keys.index(key)]
        return amounts
    return [[0.0] * len(reply["t"]) for _ in range(percents)]


def _rows(replies: list[list[list[float]]]) -> list[list[float]]:
    """Amounts of each percent, of all replies."""
    return [[amount for row in rows for amount in row] for rows in zip(*replies, strict=True)]


class SeriesDocument(Document):
    """Depth over time as a table: one row per point, group and percent."""

    __slots__ = ()

    def _records(self, rows: str | None) -> dict[str, list[Any]]:
        """In the columns of the API's Arrow stream, and `timestamp`."""
        if rows is not None:
            raise ValueError("rows: this document has only one table")
        series: Any = self
        is_grouped = series.groups is not None
        groups = [group.key for group in series.groups] if is_grouped else [None]
        places = [
            (point, g, p)
            for point in range(len(series.t))
            for g in range(len(groups))
            for p in range(len(series.pct))
        ]
        times = [datetime.fromtimestamp(t, timezone.utc) for t in series.t]

        def per_point(values: list[Any]) -> list[Any]:
            return [values[point] for point, _, _ in places]

        def amounts(side: Any) -> list[float]:
            return [(side[g] if is_grouped else side)[p][point] for point, g, p in places]

        return {
            "timestamp": per_point(times),
            "t": per_point(series.t),
            "snapshot_t": per_point(series.snapshot_t),
            "price_usd": per_point(series.price_usd),
            **({} if series.score is None else {"score": per_point(series.score)}),
            **({"group": [groups[g] for _, g, _ in places]} if is_grouped else {}),
            "pct": [series.pct[p] for _, _, p in places],
            "support_usd": amounts(series.support_usd),
            "resistance_usd": amounts(series.resistance_usd),
        }
