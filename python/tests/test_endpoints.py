"""Every endpoint as a method, with the documents that the TypeScript client gets."""

from __future__ import annotations

import asyncio
import inspect
import time
from typing import Any

import generate
import httpx
import pytest

from conftest import MINUTE, MINUTES, NOW_S, Server, TypeScript
from fathom_client import AsyncClient, Client, Document
from fathom_client.generated.operations import ROUTES

SOL = "So11111111111111111111111111111111111111112"
WETH = "0xd584e5d8be7dac514a5380357cb8988f1c16c040"
WINDOW: dict[str, Any] = {"from": 1794638096, "to": 1794659696}

# Of each method: its arguments, and the operation's parameters in the TypeScript client.
CALLS: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("score", {"token": SOL, "explain": True}, "getScore", {"address": SOL, "explain": True}),
    ("score", {"token": WETH, "at": "-1h"}, "getScore", {"address": WETH, "at": "-1h"}),
    ("scores", {"tokens": [SOL, WETH]}, "postScore", {"addresses": [SOL, WETH]}),
    ("top_scores", {"chain": "all"}, "getTopScores", {"chain": "all"}),
    (
        "market_depth",
        {"token": SOL, "exchange_type": "ALL", "include_summary": True},
        "getMarketDepth",
        {"token_address": SOL, "exchange_type": "ALL", "include_summary": True},
    ),
    (
        "slippage",
        {"token": WETH, "side": "sell", "usd": [5e4, 1e12], "move_pct": 2, "types": ["cex_spot"]},
        "getSlippage",
        {
            "address": WETH,
            "side": "sell",
            "usd": [5e4, 1e12],
            "move_pct": [2],
            "types": ["cex_spot"],
        },
    ),
    ("dca_pressure", {"include_orders": True}, "getDcaPressure", {"include_orders": True}),
    ("dca_orders", {"token": SOL, "limit": 5}, "getDcaOrders", {"token_address": SOL, "limit": 5}),
    ("limit_orders", {"token": SOL}, "getLimitOrders", {"token_address": SOL}),
    (
        "whale_activity",
        {"token": SOL, "include": ["summary", "wallets"], "wallet_limit": 20},
        "getWhaleActivity",
        {"token_address": SOL, "include": ["summary", "wallets"], "wallet_limit": 20},
    ),
    ("whale_activities", {"tokens": [SOL]}, "postWhaleActivity", {"token_addresses": [SOL]}),
    ("dlmm", {"token": SOL}, "getDlmm", {"address": SOL}),
    ("dlmm_pools", {"min_tvl": 1000}, "getDlmmPools", {"minTvl": 1000}),
    ("lp_cheat_sheet", {"limit": 3}, "getLpCheatSheet", {"limit": 3}),
    (
        "replay_page",
        {"token": SOL, "start": WINDOW["from"], "end": WINDOW["to"], "group": "type"},
        "getReplay",
        {"address": SOL, **WINDOW, "group": "type"},
    ),
    (
        "replay_plan",
        {"token": SOL, "start": WINDOW["from"], "end": WINDOW["to"]},
        "getReplayPlan",
        {"address": SOL, **WINDOW},
    ),
    (
        "depth_series_page",
        {"token": WETH, "start": WINDOW["from"], "end": WINDOW["to"], "pct": [2, 5], "score": True},
        "getDepthSeries",
        {"address": WETH, **WINDOW, "pct": [2, 5], "score": True},
    ),
    ("coverage", {"token": WETH}, "getCoverage", {"address": WETH}),
    ("tokens", {"query": "s", "chain": "all"}, "getTokens", {"query": "s", "chain": "all"}),
]


def test_no_operation_of_the_description_is_missing(server: Server) -> None:
    described = httpx.get(f"{server.url}/api/v1/openapi.json").json()
    operations = {
        (method.upper(), path) for path, item in described["paths"].items() for method in item
    }
    assert set(ROUTES.values()) == operations
    for cls in (Client, AsyncClient):
        assert all(callable(getattr(cls, name)) for name in ROUTES)
    assert {name for name, *_ in CALLS} == set(ROUTES) - {"usage"}


def test_the_generated_files_are_those_of_the_description() -> None:
    for name, text in generate.generated().items():
        assert (generate.FOLDER / name).read_text() == text, f"{name}: run python generate.py"


def test_both_clients_have_the_same_methods_and_arguments() -> None:
    def public(cls: type) -> dict[str, list[str]]:
        names = [name for name in vars(cls) if not name.startswith("_")]
        return {name: list(inspect.signature(getattr(cls, name)).parameters) for name in names}

    for blocking, other in zip(Client.__mro__[:2], AsyncClient.__mro__[:2], strict=True):
        assert public(blocking) == public(other)


@pytest.mark.parametrize(("name", "given", "operation", "parameters"), CALLS)
def test_documents_are_those_of_the_typescript_client(
    client: Client,
    server: Server,
    key: str,
    typescript: TypeScript,
    name: str,
    given: dict[str, Any],
    operation: str,
    parameters: dict[str, Any],
) -> None:
    for _ in range(20):
        document: Document = getattr(client, name)(**given)
        expected = typescript(operation, parameters)
        # Right after its start the server still completes boards.
        if document.to_dict() == expected:
            break
        time.sleep(0.5)
    assert "failed" not in expected
    assert document.to_dict() == expected

    async def asynchronously() -> Document:
        async with AsyncClient(server.url, key) as other:
            found: Document = await getattr(other, name)(**given)
            return found

    found = asyncio.run(asynchronously())
    assert type(found) is type(document)
    assert found.to_dict().keys() == expected.keys()


def test_usage_counts_calls(client: Client) -> None:
    before = client.usage()
    client.coverage(SOL)
    after = client.usage()
    assert after.used == before.used + 1
    assert any(one.endpoint == "GET /coverage/:address" for one in after.endpoints)


def test_rows_as_tables(client: Client) -> None:
    board = client.top_scores(details=True)
    for frame in (board.to_pandas(), board.to_polars().to_dict(as_series=False)):
        assert list(frame["address"]) == [token.address for token in board.tokens]
        depth = [token.depth_2pct_usd and token.depth_2pct_usd.support for token in board.tokens]
        assert list(frame["depth_2pct_usd_support"]) == depth
    quotes = client.slippage("WETH", "buy", usd=[1000, 2000], move_pct=[1, 2, 3])
    assert list(quotes.to_pandas()["usd"]) == [1000, 2000]
    assert list(quotes.to_polars("moves")["move_pct"]) == [1, 2, 3]
    with pytest.raises(ValueError, match="rows: expected one of quotes, moves"):
        quotes.to_polars("venues")


@pytest.mark.parametrize("group", [None, "venue"])
def test_a_depth_series_of_many_replies_is_whole(client: Client, group: Any) -> None:
    # 2,000 points a reply: with a step of a minute, 33 hours.
    given = {"start": NOW_S - 60 * MINUTES, "end": NOW_S + 1, "step": "1m", "group": group}
    series = client.depth_series(MINUTE, **given, pct=[1, 2])
    pages = []
    start: Any = given["start"]
    while start is not None:
        page = client.depth_series_page(MINUTE, **{**given, "start": start}, pct=[1, 2])
        pages.append(page)
        start = page.next_from
    assert len(pages) > 1
    # The last snapshot's minute has not ended.
    assert len(series.t) == MINUTES - 1
    assert series.t == [t for page in pages for t in page.t]
    assert series.next_from is None
    frame = series.to_polars()
    groups = 1 if series.groups is None else len(series.groups)
    assert len(frame) == len(series.t) * groups * 2
    expected = {}
    for page in pages:
        keys = [one.key for one in page.groups or []] if group else [None]
        for g, name in enumerate(keys):
            for p, pct in enumerate(page.pct):
                support: Any = page.support_usd[g] if group else page.support_usd
                for t, amount in zip(page.t, support[p], strict=True):
                    expected[(t, name, pct)] = amount
    for row in frame.iter_rows(named=True):
        amount = expected.get((row["t"], row.get("group"), row["pct"]), 0.0)
        assert row["support_usd"] == amount
        assert row["timestamp"].timestamp() == row["t"]
    assert series.to_pandas()["support_usd"].tolist() == frame["support_usd"].to_list()
