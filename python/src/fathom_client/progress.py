"""Progress of a download, on one line of a terminal or in a notebook."""

from __future__ import annotations

import sys
import time
from typing import Any

from .generated.api import ReplayPlan

EVERY_S = 0.1
"""Between two changes of the line."""


class Progress:
    """Shows how many pages and cells have come, once there is more than one page.

    Args:
        shown: None: in a terminal or notebook.
    """

    def __init__(self, name: str, shown: bool | None) -> None:
        self._name = name
        self._notebook = _notebook_display() if shown is not False else None
        self._is_shown = shown or (
            shown is None and (self._notebook is not None or sys.stderr.isatty())
        )
        self._handle: Any = None
        self._pages = 0
        self._cells = 0
        self._total_pages = 0
        self._total_cells = 0
        self._began = time.monotonic()
        self._told: float | None = None

    def plan(self, plan: ReplayPlan) -> None:
        """The rest of the window is planned."""
        self._total_pages = self._pages + plan.page_count
        self._total_cells = self._cells + plan.row_count
        # The plan of a long window is not the last one.
        self._more = "+" if plan.next_from is not None else ""
        self._show()

    def page(self, cells: int) -> None:
        """A page has come."""
        self._pages += 1
        self._cells += cells
        if self._total_pages:
            self._show()

    def end(self) -> None:
        """No more pages come, all have or because of an error."""
        if self._told is not None:
            self._show(last=True)

    def text(self) -> str:
        pages = f"{self._pages}/{max(self._pages, self._total_pages)}{self._more} pages"
        cells = f"{self._cells:,}/{max(self._cells, self._total_cells):,}{self._more} cells"
        return f"{self._name}: {pages}, {cells}, {time.monotonic() - self._began:.1f} s"

    _more = ""

    def _show(self, last: bool = False) -> None:
        now = time.monotonic()
        if not self._is_shown or (
            not last and self._told is not None and now - self._told < EVERY_S
        ):
            return
        self._told = now
        if self._notebook is None:
            sys.stderr.write(f"\r{self.text()}\x1b[K" + ("\n" if last else ""))
            sys.stderr.flush()
        elif self._handle is None:
            self._handle = self._notebook({"text/plain": self.text()}, raw=True, display_id=True)
        else:
            self._handle.update({"text/plain": self.text()}, raw=True)


def _notebook_display() -> Any:
    """IPython's display() inside of a notebook, else None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display

    return display
