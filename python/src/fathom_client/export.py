"""An export, made by `fathom export`, read as a server's replay."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from .documents import import_or_say
from .errors import RequestError
from .parameters import Time, text_of
from .parquet import parquet_library
from .symbols import named_token

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from .follow import PathLike

LIST = "_fathom.json"
VERSION = 1
FILE = re.compile(r"cells/chain=(\w+)/date=(\d{4}-\d\d-\d\d)/(\w+)-(raw|15m|1h)\.parquet")
UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}

# The columns of replay's tables, by the group of the export, with their names in its files.
COLUMNS = {"t": "t", "tier": "tier", "price_usd": "price_usd"}
AMOUNTS = ("bin", "support_usd", "resistance_usd", "timestamp", "price")
MARKET = {"source": "source", "pair": "pair", "address": "market_address"}


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
        found = [FILE.fullmatch(name) for name in sorted(listed["files"])]
        self._files = [match for match in found if match is not None]

    @property
    def tokens(self) -> list[str]:
        """The tokens that have cells, as CHAIN:ADDRESS."""
        return sorted({f"{match[1]}:{match[3]}" for match in self._files})

    def replay(
        self, token: str, start: Time | None = None, end: Time | None = None
    ) -> ExportReplay:
        """The cells of a token in a window.

        Args:
            token: address or CHAIN:ADDRESS; exports have no symbols.
            start: included; default: the first snapshot.
            end: excluded; default: behind the last one.
        """
        named = named_token(token)
        if named.address is None:
            message = f"token: exports know addresses only, '{token}' is none: {self.tokens}"
            raise RequestError(message, parameter="token")
        address = named.address.lower() if named.chain == "evmchain" else named.address
        window = (
            0 if start is None else _seconds("start", start),
            2**32 if end is None else _seconds("end", end),
        )
        files: dict[str, list[Path]] = {}
        for match in self._files:
            midnight = datetime.fromisoformat(f"{match[2]}T00:00:00+00:00")
            begins, ends = midnight.timestamp(), (midnight + timedelta(days=1)).timestamp()
            if (match[1], match[3]) == (named.chain, address) and (
                begins < window[1] and window[0] < ends
            ):
                files.setdefault(match[2], []).append(self.folder / match[0])
        if not self._files:
            raise ValueError(f"{self.folder}: this export has no cells")
        return ExportReplay(
            self.group, list(files.values()), window, self.folder / self._files[0][0]
        )


class ExportReplay:
    """The cells of a token in a window, in the columns that a server's replay has, without `market`."""

    def __init__(
        self, group: str, days: list[list[Path]], window: tuple[int, int], any_file: Path
    ) -> None:
        self.window = window
        """Start (included) and end (excluded), epoch seconds."""
        self._days = days
        self._any_file = any_file
        slots = {"market": MARKET, "all": {}}.get(group, {})
        keys = {"group": "group_key"} if group in ("venue", "type") else {}
        self._columns = {**COLUMNS, **keys, **{name: name for name in AMOUNTS}, **slots}

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
