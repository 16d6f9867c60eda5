"""An export, read as the server's replay."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import polars
import pytest

from conftest import NOW_S, fathom
from fathom_client import Client, Export, RequestError, open_export

TOKEN = "0xd584e5d8be7dac514a5380357cb8988f1c16c040"
START = NOW_S - 6 * 86_400


@pytest.fixture(scope="module", params=["market", "venue", "all"])
def export(
    request: pytest.FixtureRequest, market_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Export:
    out = tmp_path_factory.mktemp("export")
    window = ["--from", str(START), "--to", str(NOW_S), "--group", request.param]
    words = ["--token", f"evmchain:{TOKEN}", "--out", str(out), "--data", str(market_data)]
    fathom("export", *words, *window)
    return open_export(out)


def test_it_has_the_cells_of_the_server(client: Client, export: Export, tmp_path: Path) -> None:
    assert export.tokens == [f"evmchain:{TOKEN}"]
    window = (START + 86_400, NOW_S - 5_000)
    server = client.replay(TOKEN, *window, group=export.group)  # type: ignore[arg-type]
    expected = server.to_polars().drop("market", strict=False)
    found = export.replay(TOKEN.upper().replace("0X", "0x"), *window)
    assert found.to_polars().equals(expected)
    arrow = found.to_arrow()
    assert polars.DataFrame(polars.from_arrow(arrow)).equals(expected)
    assert found.to_pandas()["support_usd"].tolist() == expected["support_usd"].to_list()
    path = found.to_parquet(tmp_path / "cells.parquet")
    assert polars.read_parquet(path).equals(expected)


def test_windows(export: Export) -> None:
    whole = export.replay(TOKEN).to_polars()
    noon = datetime(2026, 11, 12, 12, tzinfo=timezone.utc)
    for start in (noon, int(noon.timestamp()), "2026-11-12T12:00:00Z", noon.date()):
        part = export.replay(TOKEN, start).to_polars()
        from_s = noon.timestamp() - (43_200 if start == noon.date() else 0)
        assert part.equals(whole.filter(polars.col("t") >= from_s))
    empty = export.replay(TOKEN, "2020-01-01", "2020-01-02")
    assert empty.to_polars().shape == (0, whole.width)
    assert empty.to_arrow().num_rows == 0
    for wrong in ("NONE", "", "mainchain:NONE", f"mainchain:{TOKEN}"):
        with pytest.raises(RequestError, match="token"):
            export.replay(wrong)
    with pytest.raises(RequestError, match="start: expected"):
        export.replay(TOKEN, "yesterday")


def test_a_folder_without_an_export(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected an export"):
        open_export(tmp_path)


def _cells(pages: Iterable[Any]) -> dict[int, list[Any]]:
    """What pages say of each snapshot, whatever the order of their markets and groups."""
    found: dict[int, list[Any]] = {}
    for page in pages:
        # Pages of groups list the server's markets, too.
        slots = page.groups or page.markets
        for one in page.snapshots:
            index = one.market_idx or one.group_idx
            names = [repr(slots[i]) for i in index] if index else [""] * len(one.bin)
            cells = sorted(zip(names, one.bin, one.support_usd, one.resistance_usd, strict=True))
            found[one.t] = [one.tier, one.price_usd, cells]
    return found


def test_pages_are_those_of_the_server(client: Client, export: Export) -> None:
    window = (START + 90_000, NOW_S - 5_000)
    server = client.replay(TOKEN, *window, group=export.group)  # type: ignore[arg-type]
    expected = _cells(server.pages())
    pages = list(export.replay(TOKEN, *window).pages())
    assert len(pages) > 3
    assert _cells(pages) == expected
    assert list(_cells(pages)) == sorted(expected)


def test_symbols(client: Client, export: Export) -> None:
    symbol = next(one.symbol for one in client.tokens(TOKEN, chain="all").tokens)
    assert symbol
    expected = export.replay(TOKEN).to_polars()
    for name in (symbol, f"evmchain:{symbol}"):
        assert export.replay(name).to_polars().equals(expected)


def test_any_dataset_is_a_table(
    client: Client, market_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.mktemp("export")
    datasets = ["--dataset", "scores", "--dataset", "dlmm_hours", "--dataset", "holders"]
    words = ["--out", str(out), "--data", str(market_data), "--token", f"evmchain:{TOKEN}"]
    fathom("export", *words, *datasets, "--from", str(START), "--to", str(NOW_S))
    export = open_export(out)
    assert {"scores", "dlmm_hours", "tokens"} <= set(export.datasets)
    window = (NOW_S - 86_400, NOW_S - 5_000)
    scores = export.table("scores", TOKEN, *window).to_polars()
    series = client.depth_series(TOKEN, *window, step="1h", score=True)
    told = dict(zip(series.snapshot_t, series.score or [], strict=True))
    of_all = dict(scores.select("t", "service_score").rows())
    shown = {t: of_all.get(t) for t in told}
    assert len(shown) > 20
    assert shown == told
    assert export.table("scores").to_pandas()["t"].min() >= START
    hours = export.table("dlmm_hours", start=window[0]).to_arrow()["hour"].to_pylist()
    assert min(hours) >= window[0]
    with pytest.raises(ValueError, match="has no cells, it has"):
        export.table("cells")
