"""A window as one Parquet file: in bounded memory, and resumed if it was interrupted."""

from __future__ import annotations

import importlib.util
import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from .documents import import_or_say
from .paging import Page, Rest
from .tables import polars_page

Library = Literal["pyarrow", "polars"]

MAX_RELATIVE_AGE_S = 3600
"""How long an interrupted download of a window that depends on the clock may be resumed."""


def parquet_library() -> Library:
    """The library that writes Parquet: pyarrow, or polars without it.

    Raises:
        ImportError: without both.
    """
    if importlib.util.find_spec("pyarrow") is None and importlib.util.find_spec("polars"):
        return "polars"
    import_or_say("pyarrow", "arrow")
    return "pyarrow"


@dataclass
class State:
    """How far a download has come; kept beside its pages."""

    request: Mapping[str, Any]
    library: Library
    pages: int = 0
    start: int = 0
    """The window's, epoch seconds."""
    end: int = 0
    next_from: int | None = None

    @property
    def window(self) -> Rest | None:
        return Rest(self.start, self.end) if self.pages else None

    @property
    def rest(self) -> Rest | None:
        return None if self.next_from is None else Rest(self.next_from, self.end)


class PartialFile:
    """The pages of a file that is not complete, in a folder beside it: FILE.part.

    After each page the folder says how far the download has come; a process that is killed loses
    the page that it was writing.
    """

    def __init__(self, file: Path, request: Mapping[str, Any], is_relative: bool) -> None:
        """
        Args:
            request: what the pages depend on; another request begins anew.
            is_relative: whether the window depends on the clock.
        """
        self.file = file
        self.folder = file.with_name(f"{file.name}.part")
        self.state = State(request=request, library=parquet_library())
        found = self._found(is_relative)
        if found is not None:
            self.state = found
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.resumed_pages = self.state.pages

    def _found(self, is_relative: bool) -> State | None:
        state_file = self.folder / "state.json"
        try:
            found = State(**json.loads(state_file.read_text()))
            age_s = time.time() - state_file.stat().st_mtime
        except (OSError, ValueError, TypeError):
            return None
        same = found.request == self.state.request and found.library == self.state.library
        return found if same and not (is_relative and age_s > MAX_RELATIVE_AGE_S) else None

    @property
    def is_complete(self) -> bool:
        return self.state.pages > 0 and self.state.next_from is None

    def add(self, page: Page[bytes]) -> None:
        """Keeps the next page."""
        self.folder.mkdir(parents=True, exist_ok=True)
        part = self._part(self.state.pages)
        # lz4: it is read once.
        if self.state.library == "pyarrow":
            import pyarrow
            import pyarrow.parquet

            table = pyarrow.ipc.open_stream(page.data).read_all().replace_schema_metadata()
            pyarrow.parquet.write_table(table, part, compression="lz4")
        else:
            polars_page(page.data).write_parquet(part, compression="lz4")
        if self.state.pages == 0:
            # Later ones are asked for as windows of their own.
            self.state.start, self.state.end = page.start, page.end
        self.state.pages += 1
        self.state.next_from = page.next_from
        written = self.folder / "state.json.new"
        written.write_text(json.dumps(asdict(self.state)))
        written.replace(self.folder / "state.json")

    def finish(self) -> Path:
        """Joins the pages to the file, which appears when it is whole."""
        parts = [self._part(index) for index in range(self.state.pages)]
        whole = self.folder / "whole.parquet"
        if self.state.library == "pyarrow":
            _join_with_pyarrow(parts, whole)
        else:
            polars = import_or_say("polars", "polars")
            polars.scan_parquet(parts).sink_parquet(whole, compression="zstd")
        whole.replace(self.file)
        shutil.rmtree(self.folder)
        return self.file

    def _part(self, index: int) -> Path:
        return self.folder / f"{index:06}.parquet"


def _join_with_pyarrow(parts: list[Path], whole: Path) -> None:
    import pyarrow.parquet

    first = pyarrow.parquet.read_schema(parts[0])
    with pyarrow.parquet.ParquetWriter(whole, first, compression="zstd") as writer:
        for part in parts:
            writer.write_table(pyarrow.parquet.read_table(part))
