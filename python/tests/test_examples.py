"""The notebooks run, from their first to their last cell, and so does the back-test of examples/."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from conftest import NOW_S, PATIENCE_S, ROOT, Server, fathom
from fathom_client import Client

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


def test_back_test(
    server: Server,
    key: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = ROOT / "examples/back-test/back_test.py"
    spec = importlib.util.spec_from_file_location("back_test", file)
    assert spec is not None
    assert spec.loader is not None
    example: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    monkeypatch.setenv("FATHOM_URL", server.url)
    monkeypatch.setenv("FATHOM_KEY", key)
    usd = 4_000_000.0
    with Client() as client:
        week = client.replay("WETH", "-7d", step="1h", group="all", types=example.TYPES)
        cells = week.to_polars()
        costs = example.costs(cells, usd)
        assert len(costs) > 20
        # The server's own answer, of the same depth.
        for t, cost_pct in costs.tail(3).iter_rows():
            quotes = client.slippage("WETH", "sell", usd=usd, at=t, types=example.TYPES).quotes
            assert quotes[0].slippage_pct == pytest.approx(-cost_pct, abs=1e-6)
    example.main("WETH", str(usd))
    lines = capsys.readouterr().out.splitlines()
    assert [line[:12].strip() for line in lines] == ["sold", "at once", "in 4 parts", "in 24 parts"]
    orders, means = ([float(line.split()[i].rstrip("%")) for line in lines[1:]] for i in (-3, -2))
    # Hours that lack a part are left out; smaller parts cost less.
    assert orders == sorted(orders, reverse=True)
    assert means == sorted(means, reverse=True)
    assert means[0] > 2 * means[-1] > 0
