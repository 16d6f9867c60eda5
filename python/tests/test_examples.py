"""The notebooks run, from their first to their last cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from conftest import NOW_S, PATIENCE_S, Server, fathom

EXAMPLES = Path(__file__).parents[1] / "examples"
# Jupyter's own.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def export(market_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export")
    window = ["--from", str(NOW_S - 6 * 86_400), "--to", str(NOW_S)]
    fathom("export", "--token", "WETH", "--out", str(out), "--data", str(market_data), *window)
    return out


# Of each, what its last cell shows.
LAST = {
    "slippage-backtest": "worst_of_all_pct",
    "depth-by-venue": "share_pct",
    "duckdb-over-export": "cells",
}


def test_each_notebook_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.ipynb")} == set(LAST)


@pytest.mark.parametrize("name", LAST)
def test_notebook(
    name: str, server: Server, key: str, export: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOM_URL", server.url)
    monkeypatch.setenv("FATHOM_KEY", key)
    monkeypatch.setenv("FATHOM_EXPORT", str(export))
    notebook: Any = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
    # A notebook in the repository has no outputs.
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    NotebookClient(notebook, timeout=PATIENCE_S, kernel_name="python3").execute()
    assert LAST[name] in code[-1].outputs[-1]["data"]["text/plain"]
