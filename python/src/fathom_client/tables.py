"""Pages of a window as one table, one row per cell."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .documents import import_or_say

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

ARROW = "application/vnd.apache.arrow.stream"
JSON = "application/json"

Columns = dict[str, Any]
"""A page in columns: numpy arrays, and of texts their codes and values."""


def arrow_table(contents: Sequence[bytes]) -> pyarrow.Table:
    """The pages, Arrow streams, as one table; without copies of the numbers."""
    pyarrow = import_or_say("pyarrow", "arrow")
    tables = [
        pyarrow.ipc.open_stream(content).read_all().replace_schema_metadata()
        for content in contents
    ]
    return pyarrow.concat_tables(tables).unify_dictionaries()


def polars_table(contents: Sequence[bytes]) -> polars.DataFrame:
    """The pages, Arrow streams, as one frame."""
    pl = import_or_say("polars", "polars")
    frame: polars.DataFrame = pl.concat([polars_page(content) for content in contents])
    return frame


def polars_page(content: bytes) -> polars.DataFrame:
    pl = import_or_say("polars", "polars")
    frame: polars.DataFrame = pl.read_ipc_stream(io.BytesIO(content))
    return frame


def columns_of(page: dict[str, Any]) -> Columns:
    """A page of JSON as numpy arrays, in the columns and types that the Arrow stream has."""
    numpy = import_or_say("numpy", "pandas")
    snapshots = page["snapshots"]
    counts = [len(one["bin"]) for one in snapshots]

    def per_snapshot(values: list[Any], dtype: str) -> Any:
        return numpy.repeat(numpy.array(values, dtype=dtype), counts)

    def per_cell(name: str, dtype: str) -> Any:
        return numpy.array([value for one in snapshots for value in one[name]], dtype=dtype)

    def texts(values: list[str | None], codes: Any) -> tuple[Any, list[str]]:
        distinct = list(dict.fromkeys(value for value in values if value is not None))
        places = {value: code for code, value in enumerate(distinct)}
        code_of = [-1 if value is None else places[value] for value in values]
        return numpy.array(code_of, dtype="int32")[codes], distinct

    columns: Columns = {"t": per_snapshot([one["t"] for one in snapshots], "uint32")}
    tiers = numpy.arange(len(snapshots)).repeat(counts)
    columns["tier"] = texts([one["tier"] for one in snapshots], tiers)
    columns["price_usd"] = per_snapshot([one["price_usd"] for one in snapshots], "float64")
    markets = page["markets"] if page["group"] == "market" else []
    if page["group"] == "market":
        index = per_cell("market_idx", "int32")
        columns["market"] = texts(list(_market_names(markets)), index)
    elif page["group"] != "all":
        index = per_cell("group_idx", "int32")
        columns["group"] = texts([group["key"] for group in page["groups"]], index)
    columns["bin"] = per_cell("bin", "int16")
    columns["support_usd"] = per_cell("support_usd", "float64")
    columns["resistance_usd"] = per_cell("resistance_usd", "float64")
    columns["timestamp"] = (columns["t"].astype("int64") * 1000).astype("datetime64[ms]")
    columns["price"] = columns["price_usd"] * 1.01 ** columns["bin"].astype("float64")
    if page["group"] == "market":
        for name in ("source", "pair", "address"):
            columns[name] = texts([market[name] for market in markets], index)
    return columns


def _market_names(markets: list[dict[str, Any]]) -> list[str]:
    """As the Arrow stream names markets: by source and address or pair, distinct."""
    names: dict[str, None] = {}
    for index, market in enumerate(markets):
        what = market["address"] if market["address"] is not None else market["pair"]
        name = market["source"] if what is None else f"{market['source']} {what}"
        while name in names:
            name += f" #{index}"
        names[name] = None
    return list(names)


def pandas_of_arrow(table: pyarrow.Table) -> pandas.DataFrame:
    import_or_say("pandas", "pandas")
    frame: pandas.DataFrame = table.to_pandas()
    return frame


def pandas_of_columns(pages: Sequence[Columns]) -> pandas.DataFrame:
    """The pages as one frame, with the types that `pandas_of_arrow` gives."""
    pd = import_or_say("pandas", "pandas")
    numpy = import_or_say("numpy", "pandas")
    joined = {}
    for name, first in pages[0].items():
        parts = [page[name] for page in pages]
        if isinstance(first, tuple):
            values = list(dict.fromkeys(value for _, distinct in parts for value in distinct))
            places = {value: code for code, value in enumerate(values)}
            # -1, a null, takes the last place.
            maps = [
                numpy.array([*(places[value] for value in distinct), -1], dtype="int32")
                for _, distinct in parts
            ]
            codes = numpy.concatenate(
                [places_of[codes] for places_of, (codes, _) in zip(maps, parts, strict=True)]
            )
            joined[name] = pd.Categorical.from_codes(codes, categories=values)
        else:
            joined[name] = numpy.concatenate(parts)
    frame: pandas.DataFrame = pd.DataFrame(joined)
    frame["timestamp"] = frame["timestamp"].dt.tz_localize("UTC")
    return frame
