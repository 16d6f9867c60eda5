"""Depth history: number by number what the TypeScript client gets, in every form."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pandas
import polars
import pytest

from conftest import MINUTE, NOW_S, Server, TypeScript
from fathom_client import Client, Replay
from fathom_client.parquet import PartialFile
from fathom_client.tables import columns_of, pandas_of_columns

TOKENS = [
    "So11111111111111111111111111111111111111112",
    "0xd584e5d8be7dac514a5380357cb8988f1c16c040",
]
TYPES = ["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
DAY_S = 86_400


def random_view(seed: int) -> tuple[str, dict[str, Any]]:
    pick = random.Random(seed)
    end = NOW_S - pick.randrange(10 * DAY_S)
    view: dict[str, Any] = {
        "from": end - pick.choice([600, DAY_S // 3, DAY_S, 3 * DAY_S]),
        "to": end,
        "group": pick.choice(["market", "venue", "type", "all"]),
    }
    if pick.random() < 0.5:
        view["types"] = pick.sample(TYPES, pick.randrange(1, 4))
    if pick.random() < 0.3:
        view["exclude_venues"] = ["Binance"]
    if pick.random() < 0.5:
        view["min_pct"], view["max_pct"] = -pick.randrange(1, 60), pick.randrange(1, 90)
    if pick.random() < 0.3:
        view["step"] = pick.choice(["15m", "1h"])
    return pick.choice(TOKENS), view


def replay(client: Client, token: str, view: dict[str, Any], **options: Any) -> Replay:
    given = {name: value for name, value in view.items() if name not in ("from", "to")}
    return client.replay(token, view["from"], view["to"], **given, **options)


def rows_of(pages: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The cells of pages in JSON."""
    rows = []
    for page in pages:
        for one in page["snapshots"]:
            index = one.get("market_idx") or one.get("group_idx") or [None] * len(one["bin"])
            for i, bin_ in enumerate(one["bin"]):
                slot: tuple[Any, ...] = ()
                if page["group"] == "market":
                    market = page["markets"][index[i]]
                    slot = (market["source"], market["pair"], market["address"])
                elif page["group"] != "all":
                    slot = (page["groups"][index[i]]["key"],)
                amounts = (one["support_usd"][i], one["resistance_usd"][i])
                rows.append((one["t"], one["tier"], one["price_usd"], bin_, *amounts, *slot))
    return rows


def rows_of_frame(frame: polars.DataFrame, group: str) -> list[tuple[Any, ...]]:
    slots = {"market": ["source", "pair", "address"], "all": []}.get(group, ["group"])
    names = ["t", "tier", "price_usd", "bin", "support_usd", "resistance_usd", *slots]
    return frame.select(names).rows()


@pytest.mark.parametrize("seed", range(12))
def test_random_windows_as_typescript_has_them(
    client: Client, typescript: TypeScript, seed: int
) -> None:
    token, view = random_view(seed)
    expected = typescript("replay", token, view)
    pages = [page.to_dict() for page in replay(client, token, view).pages()]
    assert pages == expected
    made = replay(client, token, view, ahead=random.Random(seed).choice([1, 4, 16]))
    frame = made.to_polars()
    assert rows_of_frame(frame, view["group"]) == rows_of(expected)
    assert frame.equals(polars.DataFrame(polars.from_arrow(made.to_arrow())))
    # Without pyarrow, pandas frames are made of JSON, and are the same.
    plain = pandas_of_columns([columns_of(page) for page in expected])
    found = made.to_pandas()
    assert list(plain.columns) == list(found.columns)
    for name, column in found.items():
        if isinstance(column.dtype, pandas.CategoricalDtype):
            assert column.astype(object).equals(plain[name].astype(object))
        elif name == "price":
            pandas.testing.assert_series_equal(column, plain[name], rtol=1e-14)
        else:
            pandas.testing.assert_series_equal(column, plain[name])


def test_a_window_stays_the_same_for_all_tables(client: Client) -> None:
    made = client.replay("BARN", "-2d", progress=False)
    assert made.window is None
    pages = list(made.pages())
    assert made.window == (NOW_S - 2 * DAY_S, NOW_S)
    assert len(made.to_polars()) == len(made.to_pandas()) == sum(page.row_count for page in pages)


def test_a_token_without_history_is_an_empty_table(client: Client) -> None:
    made = client.replay("11111111111111111111111111111111", "-1h")
    assert [page.snapshot_count for page in made.pages()] == [0]
    assert made.to_polars().shape == (0, 12)
    assert list(made.to_pandas().columns) == made.to_arrow().column_names


def test_a_connection_that_breaks_off_continues(client: Client, server: Server, key: str) -> None:
    """What has come is not fetched again."""
    asked: list[int] = []

    def stop_at_fourth(headers: Any, status: int) -> None:
        asked.append(status)
        if len(asked) == 5:
            raise KeyboardInterrupt

    view: dict[str, Any] = {"from": NOW_S - 10 * DAY_S, "to": NOW_S, "group": "market"}
    whole = replay(client, TOKENS[1], view).to_polars()
    with Client(server.url, key, on_reply=stop_at_fourth) as other:
        broken = replay(other, TOKENS[1], view, ahead=1)
        with pytest.raises(KeyboardInterrupt):
            broken.to_polars()
        before = len(asked)
        assert broken.to_polars().equals(whole)
    pages = len(client.replay_plan(TOKENS[1], view["from"], view["to"]).pages)
    # Only the page whose reply was lost comes twice.
    assert before == 5
    assert len(asked) == pages + 1


def test_parquet_is_the_same_table(client: Client, tmp_path: Path) -> None:
    view = {"from": NOW_S - 3 * DAY_S, "to": NOW_S, "group": "market"}
    made = replay(client, TOKENS[0], view)
    path = made.to_parquet(tmp_path / "cells.parquet")
    assert path == tmp_path / "cells.parquet"
    assert polars.read_parquet(path).equals(made.to_polars())
    assert [one.name for one in tmp_path.iterdir()] == ["cells.parquet"]


def test_a_table_after_an_interrupted_parquet_file_has_the_whole_window(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = client.replay(MINUTE, NOW_S - 2 * DAY_S, NOW_S)
    add = PartialFile.add
    kept = 0

    def interrupted(part: PartialFile, page: Any) -> None:
        nonlocal kept
        if kept == 3:
            raise OSError("the disk is full")
        add(part, page)
        kept += 1

    with monkeypatch.context() as patch:
        patch.setattr(PartialFile, "add", interrupted)
        with pytest.raises(OSError, match="the disk is full"):
            made.to_parquet(tmp_path / "cells.parquet")
    path = made.to_parquet(tmp_path / "cells.parquet")
    whole = client.replay(MINUTE, NOW_S - 2 * DAY_S, NOW_S).to_polars()
    assert made.window == (NOW_S - 2 * DAY_S, NOW_S)
    assert made.to_polars().equals(whole)
    assert polars.read_parquet(path).equals(whole)
