"""An export, read as the server's replay."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

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
    for wrong in ("WETH", ""):
        with pytest.raises(RequestError, match="token"):
            export.replay(wrong)
    with pytest.raises(RequestError, match="start: expected"):
        export.replay(TOKEN, "yesterday")


def test_a_folder_without_an_export(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected an export"):
        open_export(tmp_path)
