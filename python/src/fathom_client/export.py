"""An export, made by `fathom export`, read as a server's replay."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .documents import import_or_say
from .errors import RequestError
from .generated.api import ReplayGroup, ReplayMarket, ReplaySnapshot
from .parameters import Time, text_of
from .parquet import parquet_library
from .symbols import NamedToken, named_token

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from .follow import PathLike

LIST = "_fathom.json"
VERSION = 1
FILE = re.compile(
    r"(?P<dataset>\w+)/(?:chain=(?P<chain>\w+)/)?(?:date=(?P<date>\d{4}-\d\d-\d\d)/)?"
    r"(?P<name>\w+?)(?:-(?:raw|15m|1h))?\.parquet"
)
UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}

# The columns of replay's tables, by the group of the export, with their names in its files.
COLUMNS = {"t": "t", "tier": "tier", "price_usd": "price_usd"}
AMOUNTS = ("bin", "support_usd", "resistance_usd", "timestamp", "price")
MARKET = {"source": "source", "pair": "pair", "address": "market_address"}
# What pages have besides.
PAGES = {"exchange_type": "exchange_type"}
GROUPS = {"label": "group_label", "type": "type"}


def open_export(directory: PathLike) -> Export:
    """The export in a folder.

    Raises:
        ValueError: if the folder holds none.
    """
    return Export(Path(directory))


class Export:
    def __init__(self, folder: Path) -> None:
        try:
            listed = json.loads((folder / LIST).read_text())
            version = listed["fathom_export"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{folder}: expected an export of fathom, with {LIST}") from error
        if version != VERSION:
            raise ValueError(f"{folder}: this is an export of version {version}, not {VERSION}")
        self.folder = folder
        self.group: str = listed["view"]["group"]
        """What one ladder sums: `market`, `venue`, `type` or `all`."""
        found = (FILE.fullmatch(name) for name in sorted(listed["files"]))
        self._files = [match for match in found if match is not None]

    @property
    def tokens(self) -> list[str]:
        """The tokens that have cells, as CHAIN:ADDRESS."""
        return sorted({f"{match['chain']}:{match['name']}" for match in self._of("cells")})

    @property
    def datasets(self) -> list[str]:
        """The datasets that have files."""
        return sorted({match["dataset"] for match in self._files})

    def replay(
        self, token: str, start: Time | None = None, end: Time | None = None
    ) -> ExportReplay:
        """The cells of a token in a window.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL. Of several tokens with a symbol, the
                only one that has cells counts.
            start: included; default: the first snapshot.
            end: excluded; default: behind the last one.
        """
        cells = self._of("cells")
        if not cells:
            raise ValueError(f"{self.folder}: this export has no cells")
        chain, address = self._token(named_token(token))
        window = _window(start, end)
        days: dict[str, list[Path]] = {}
        for match in self._in("cells", window, chain, address):
            days.setdefault(match["date"], []).append(self.folder / match[0])
        # Those without cells, too, if they were exported.
        snapshots: dict[str, list[Path]] = {}
        for match in self._in("snapshots", window, chain, address):
            snapshots.setdefault(match["date"], []).append(self.folder / match[0])
        return ExportReplay(
            self.group,
            [(days.get(date, []), snapshots.get(date, [])) for date in sorted({*days, *snapshots})],
            window,
            self.folder / cells[0][0],
        )

    def table(
        self,
        dataset: str,
        token: str | None = None,
        start: Time | None = None,
        end: Time | None = None,
    ) -> ExportTable:
        """The rows of any dataset, such as `scores`, `holders` or `tokens`, in the columns of its files.

        Args:
            token: of `cells`, `snapshots`, `scores` and `holders`; as in `replay`. Default: all.
            start: of datasets with a time; included. Default: the first row.
            end: excluded; default: behind the last one.

        Raises:
            ValueError: if the export has no such rows.
        """
        if not self._of(dataset):
            has = ", ".join(self.datasets)
            raise ValueError(f"dataset: this export has no {dataset}, it has {has}")
        chain, address = (None, None) if token is None else self._token(named_token(token))
        window = _window(start, end)
        found = self._in(dataset, window, chain, address)
        if not found:
            raise ValueError(f"dataset: this export has no {dataset} of this token and window")
        return ExportTable([self.folder / match[0] for match in found], window)

    def _of(self, dataset: str) -> list[re.Match[str]]:
        return [match for match in self._files if match["dataset"] == dataset]

    def _in(
        self, dataset: str, window: tuple[int, int], chain: str | None, address: str | None
    ) -> list[re.Match[str]]:
        """The files of a dataset that may have rows of a window."""
        found = []
        for match in self._of(dataset):
            if match["date"] is not None:
                midnight = datetime.fromisoformat(f"{match['date']}T00:00:00+00:00")
                begins, ends = midnight.timestamp(), (midnight + timedelta(days=1)).timestamp()
                if begins >= window[1] or window[0] >= ends:
                    continue
            if address is None or (match["chain"], match["name"]) == (chain, address):
                found.append(match)
        return found

    def _token(self, named: NamedToken) -> tuple[str, str]:
        if named.address is not None:
            is_evm = named.chain == "evmchain"
            return str(named.chain), named.address.lower() if is_evm else named.address
        rows = self.table("tokens").rows(["chain", "address", "symbol"])
        same = [
            f"{chain}:{address}"
            for chain, address, symbol in rows
            if symbol == named.symbol and named.chain in (None, chain)
        ]
        with_cells = [token for token in same if token in self.tokens]
        if len(same) != 1 and len(with_cells) != 1:
            what = f"{len(same)} tokens of this export have the symbol '{named.symbol}'"
            listed = ", ".join(same[:5]) if same else f"those with cells: {self.tokens[:5]}"
            raise RequestError(f"token: {what}; {listed}", parameter="token")
        chain, _, address = (with_cells if len(same) > 1 else same)[0].partition(":")
        return chain, address


@dataclass(frozen=True)
class ExportPage:
    """A day of an export, in the form of a page of replay."""

    markets: list[ReplayMarket]
    groups: list[ReplayGroup]
    snapshots: list[ReplaySnapshot]


class ExportReplay:
    """The cells of a token in a window, in the columns that a server's replay has, without `market`."""

    def __init__(
        self,
        group: str,
        days: Sequence[tuple[list[Path], list[Path]]],
        window: tuple[int, int],
        any_file: Path,
    ) -> None:
        """
        Args:
            days: the files of cells, and of snapshots, of each day.
            any_file: one of cells.
        """
        self.window = window
        """Start (included) and end (excluded), epoch seconds."""
        self._group = group
        self._days = [cells for cells, _ in days if cells]
        self._days_of_pages = days
        self._any_file = any_file
        slots = {"market": MARKET, "all": {}}.get(group, {})
        keys = {"group": "group_key"} if group in ("venue", "type") else {}
        self._columns = {**COLUMNS, **keys, **{name: name for name in AMOUNTS}, **slots}

    def pages(self) -> Iterator[ExportPage]:
        """A day at a time, as replay's pages. Needs `arrow` or `polars`.

        Snapshots without a cell are there if the export has the dataset `snapshots`.
        """
        more = PAGES if self._group == "market" else GROUPS if "group" in self._columns else {}
        for cells, snapshots in self._days_of_pages:
            page = _Page(self._group)
            if snapshots:
                table = ExportTable(snapshots, self.window)
                for t, tier, price_usd in sorted(table.rows(["t", "tier", "price_usd"])):
                    page.snapshot(t, tier, price_usd)
            if cells:
                columns = {**self._columns, **more}
                names = [one for one in columns if one not in ("timestamp", "price")]
                table = ExportTable(cells, self.window)
                lists = table.lists([columns[name] for name in names])
                page.add(dict(zip(names, lists, strict=True)))
            yield page.ended()

    def to_polars(self) -> polars.DataFrame:
        """One row per cell. Texts are categories. Needs the extra `polars`."""
        pl = import_or_say("polars", "polars")
        frames = [self._polars_day(day) for day in self._days]
        frame: polars.DataFrame = pl.concat(frames or [self._polars_day([self._any_file]).clear()])
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """One row per cell. Texts are dictionaries. Needs the extra `arrow`."""
        pyarrow = import_or_say("pyarrow", "arrow")
        tables = list(self._arrow_days())
        if not tables:
            tables = [self._arrow_day([self._any_file]).slice(0, 0)]
        return pyarrow.concat_tables(tables).unify_dictionaries()

    def to_pandas(self) -> pandas.DataFrame:
        """One row per cell. Texts are categories. Needs the extras `pandas` and `arrow`."""
        import_or_say("pandas", "pandas")
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_parquet(self, path: PathLike) -> Path:
        """Writes one row per cell, day by day, in bounded memory. Needs `arrow` or `polars`."""
        file = Path(path)
        if parquet_library() == "polars":
            self.to_polars().write_parquet(file)
            return file
        import pyarrow.parquet

        schema = self._arrow_day([self._any_file]).schema
        with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            for table in self._arrow_days():
                writer.write_table(table.cast(schema))
        return file

    def _polars_day(self, files: list[Path]) -> polars.DataFrame:
        pl = import_or_say("polars", "polars")
        start, end = self.window
        columns = [
            pl.col(column).cast(pl.Categorical) if _is_text(name) else pl.col(column)
            for name, column in self._columns.items()
        ]
        named = [column.alias(name) for column, name in zip(columns, self._columns, strict=True)]
        cells = pl.scan_parquet(files, hive_partitioning=False)
        cells = cells.filter((pl.col("t") >= start) & (pl.col("t") < end)).select(named)
        frame: polars.DataFrame = cells.sort("t", maintain_order=True).collect()
        return frame.with_columns(pl.col("t").cast(pl.UInt32))

    def _arrow_days(self) -> Iterator[pyarrow.Table]:
        for day in self._days:
            yield self._arrow_day(day)

    def _arrow_day(self, files: list[Path]) -> pyarrow.Table:
        import_or_say("pyarrow", "arrow")
        import pyarrow
        import pyarrow.parquet

        start, end = self.window
        window = [("t", ">=", start), ("t", "<", end)]
        columns = list(self._columns.values())
        tables = [
            pyarrow.parquet.read_table(one, columns=columns, filters=window, partitioning=None)
            for one in files
        ]
        table = pyarrow.concat_tables(tables).unify_dictionaries()
        if len(files) > 1:
            row = pyarrow.array(range(len(table)))
            order = [("t", "ascending"), ("row", "ascending")]
            table = table.append_column("row", row).sort_by(order).drop_columns(["row"])
        names = table.select(columns).rename_columns(list(self._columns))
        fields = [
            pyarrow.field(one.name, pyarrow.dictionary(pyarrow.int32(), pyarrow.string()))
            if _is_text(one.name)
            else one.with_type(pyarrow.uint32() if one.name == "t" else one.type)
            for one in names.schema
        ]
        return names.cast(pyarrow.schema(fields))


class _Page:
    def __init__(self, group: str) -> None:
        self._group = group
        self._slots: dict[tuple[Any, ...], int] = {}
        self._snapshots: dict[int, ReplaySnapshot] = {}

    def snapshot(self, t: int, tier: Any, price_usd: float) -> ReplaySnapshot:
        found = self._snapshots.get(t)
        if found is None:
            index: dict[str, list[int]] = {}
            if self._group != "all":
                index["market_idx" if self._group == "market" else "group_idx"] = []
            found = self._snapshots[t] = ReplaySnapshot(
                t=t,
                tier=tier,
                price_usd=price_usd,
                bin=[],
                support_usd=[],
                resistance_usd=[],
                **index,
            )
        return found

    def add(self, cells: Mapping[str, list[Any]]) -> None:
        """Adds cells, by column. Those of a snapshot stand together."""
        slots = None
        if self._group != "all":
            names = MARKET_FIELDS if self._group == "market" else GROUP_FIELDS
            fields = zip(*(cells[name] for name in names), strict=True)
            slots = [self._slots.setdefault(slot, len(self._slots)) for slot in fields]
        times, end = cells["t"], 0
        while end < len(times):
            start, t = end, times[end]
            while end < len(times) and times[end] == t:
                end += 1
            one = self.snapshot(t, cells["tier"][start], cells["price_usd"][start])
            one.bin.extend(cells["bin"][start:end])
            one.support_usd.extend(cells["support_usd"][start:end])
            one.resistance_usd.extend(cells["resistance_usd"][start:end])
            index = one.market_idx if self._group == "market" else one.group_idx
            if index is not None and slots is not None:
                index.extend(slots[start:end])

    def ended(self) -> ExportPage:
        markets, groups = [], []
        if self._group == "market":
            markets = [
                ReplayMarket(**dict(zip(MARKET_FIELDS, slot, strict=True))) for slot in self._slots
            ]
        else:
            groups = [
                ReplayGroup(key=key, label=label, type=type_) for key, label, type_ in self._slots
            ]
        return ExportPage(markets, groups, [self._snapshots[t] for t in sorted(self._snapshots)])


MARKET_FIELDS = ("source", "exchange_type", "address", "pair")
GROUP_FIELDS = ("group", "label", "type")


class ExportTable:
    """The rows of a dataset, in the columns of its files."""

    def __init__(self, files: Sequence[Path], window: tuple[int, int]) -> None:
        self._files = files
        self._window = window

    def to_polars(self) -> polars.DataFrame:
        """Needs the extra `polars`."""
        pl = import_or_say("polars", "polars")
        frame = pl.scan_parquet(self._files, hive_partitioning=False)
        time_column = _time_column(frame.collect_schema().names())
        if time_column is not None:
            start, end = self._window
            frame = frame.filter((pl.col(time_column) >= start) & (pl.col(time_column) < end))
        found: polars.DataFrame = frame.collect()
        return found

    def to_arrow(self) -> pyarrow.Table:
        """Texts are dictionaries. Needs the extra `arrow`."""
        import_or_say("pyarrow", "arrow")
        import pyarrow
        import pyarrow.parquet

        start, end = self._window
        names = pyarrow.parquet.read_schema(self._files[0]).names
        time_column = _time_column(names)
        window = (
            None if time_column is None else [(time_column, ">=", start), (time_column, "<", end)]
        )
        tables = [
            pyarrow.parquet.read_table(one, filters=window, partitioning=None)
            for one in self._files
        ]
        return pyarrow.concat_tables(tables).unify_dictionaries()

    def to_pandas(self) -> pandas.DataFrame:
        """Texts are categories. Needs the extras `pandas` and `arrow`."""
        import_or_say("pandas", "pandas")
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def rows(self, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """The rows as tuples of some columns. Needs `arrow` or `polars`."""
        return list(zip(*self.lists(columns), strict=True))

    def lists(self, columns: Sequence[str]) -> list[list[Any]]:
        """Some columns as lists. Needs `arrow` or `polars`."""
        # Polars makes lists ten times as fast as pyarrow.
        if importlib.util.find_spec("polars") is not None:
            frame = self.to_polars()
            return [frame[name].to_list() for name in columns]
        table = self.to_arrow()
        return [table[name].to_pylist() for name in columns]


def _time_column(names: Sequence[str]) -> str | None:
    return next((name for name in ("t", "hour") if name in names), None)


def _window(start: Time | None, end: Time | None) -> tuple[int, int]:
    return (
        0 if start is None else _seconds("start", start),
        2**32 if end is None else _seconds("end", end),
    )


def _is_text(name: str) -> bool:
    return name in ("tier", "group", *MARKET)


def _seconds(name: str, given: Time) -> int:
    """A time in epoch seconds, fractions rounded up."""
    if isinstance(given, datetime):
        return int(text_of("from", given))
    if isinstance(given, date):
        midnight = datetime(given.year, given.month, given.day, tzinfo=timezone.utc)
        return int(midnight.timestamp())
    if isinstance(given, (int, float)):
        return math.ceil(given)
    relative = re.fullmatch(r"-(\d+)([smhdw])", given)
    if given == "now" or relative:
        ago_s = int(relative[1]) * UNITS_S[relative[2]] if relative else 0
        return math.ceil(time.time() - ago_s)
    if given.isdigit():
        return int(given)
    try:
        found = datetime.fromisoformat(re.sub("Z$", "+00:00", given))
    except ValueError:
        found = None
    if found is None or (found.tzinfo is None and len(given) > len("2026-11-20")):
        message = (
            f"{name}: expected epoch seconds, a time with a zone, a date or -24h; was '{given}'"
        )
        raise RequestError(message, parameter=name)
    return math.ceil((found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp())
