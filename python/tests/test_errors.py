"""Wrong input, wrong keys, limits and lost servers as exceptions."""

from __future__ import annotations

import socket
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from conftest import NOW_S, Server, fathom, new_key
from fathom_client import (
    AuthError,
    Client,
    FathomError,
    LimitError,
    NoReplyError,
    RequestError,
    TokenSymbolError,
    Wait,
)

SOL = "So11111111111111111111111111111111111111112"


@pytest.mark.parametrize(
    ("call", "status", "code", "parameter"),
    [
        (lambda c: c.score("0x12"), None, "unknown_symbol", None),
        (lambda c: c.score(f"evmchain:{SOL}"), None, None, "token"),
        (lambda c: c.score(""), None, None, "token"),
        (lambda c: c.coverage(SOL + "x" * 2), None, "unknown_symbol", None),
        (lambda c: c.score(SOL, chain="evmchain"), 400, "chain_mismatch", None),
        (lambda c: c.replay_page(SOL, "yesterday"), 400, "invalid_parameter", "from"),
        (lambda c: c.replay(SOL, NOW_S, NOW_S - 1).to_polars(), 400, "invalid_parameter", "from"),
        (
            lambda c: list(c.replay(SOL, "-1d", group="pool").pages()),
            400,
            "invalid_parameter",
            "group",
        ),
        (lambda c: c.replay(SOL, end="2020-01-01").to_arrow(), 400, "window_out_of_range", None),
        (lambda c: c.replay(SOL, datetime(2026, 11, 1)).to_pandas(), None, None, "from"),
        (lambda c: c.slippage(SOL, "sell", usd=float("nan")), None, None, "usd"),
        (lambda c: c.slippage(SOL, "hold", usd=1), 400, "invalid_parameter", "side"),
        (lambda c: next(c.follow(SOL, group="pool")), 400, "invalid_parameter", "group"),
        (lambda c: c.depth_series(SOL, step="7m"), 400, "invalid_parameter", "step"),
        (lambda c: c.dca_orders("11111111111111111111111111111111"), 404, "token_not_found", None),
    ],
)
def test_wrong_input(client: Client, call: Any, status: Any, code: Any, parameter: Any) -> None:
    with pytest.raises(RequestError) as caught:
        call(client)
    error = caught.value
    assert (error.status, error.code) == (status, code)
    if parameter is not None:
        assert error.parameter == parameter
    # What was sent has a name by which the server's log knows it.
    assert (error.request_id is None) == (status is None)


def test_wrong_keys(server: Server, market_data: Path) -> None:
    with Client(server.url, "fathom_wrong") as client:
        calls: list[Any] = [
            client.usage,
            lambda: client.replay(SOL).to_polars(),
            lambda: next(client.follow(SOL)),
        ]
        for call in calls:
            with pytest.raises(AuthError) as caught:
                call()
            assert caught.value.status == 401
    with Client(server.url, "schlüssel") as client, pytest.raises(AuthError, match="characters"):
        client.usage()
    premium = new_key(market_data, tier="premium")
    with Client(server.url, premium) as client, pytest.raises(AuthError) as caught:
        client.scores([SOL])
    assert caught.value.status == 403


def test_wrong_options() -> None:
    for url in ("ftp://h", "127.0.0.1:8080", "http://h/api/v1", ""):
        with pytest.raises(ValueError, match="url: expected"):
            Client(url or "x", "k")
    with Client("http://127.0.0.1:1", "k") as client, pytest.raises(ValueError, match="ahead"):
        client.replay(SOL, ahead=17)


def test_no_server() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    with Client(url, "k", retry=False) as client, pytest.raises(NoReplyError) as caught:
        client.score(SOL)
    assert caught.value.status is None
    assert url in str(caught.value)


def test_not_fathom(server: Server) -> None:
    with Client(f"{server.url}/docs", "k") as client, pytest.raises(FathomError) as caught:
        client.score(SOL)
    assert caught.value.status == 404


def test_symbols(client: Client) -> None:
    assert client.find_token("WETH") == "0xd584e5d8be7dac514a5380357cb8988f1c16c040"
    assert client.score("WETH").address == client.find_token("evmchain:WETH")
    assert client.score("SOL", chain="mainchain").address == SOL
    with pytest.raises(TokenSymbolError, match="mainchain:SOL or evmchain:SOL") as caught:
        client.score("SOL")
    assert caught.value.code == "ambiguous_symbol"
    assert {one.chain for one in caught.value.candidates} == {"mainchain", "evmchain"}
    with pytest.raises(TokenSymbolError, match=r"nearest:.*WETH") as caught:
        client.replay("WETHX").to_polars()
    assert caught.value.code == "unknown_symbol"


def test_rate_limits_are_waited_for_in_order(server: Server, market_data: Path) -> None:
    """A replay of more pages than the key's minute allows."""
    waits: list[Wait] = []
    limited = new_key(market_data, rpm="6")
    with Client(server.url, limited, on_wait=waits.append) as client:
        begin = time.monotonic()
        frame = client.replay("WETH", "-5d", ahead=16).to_polars()
        waited_s = time.monotonic() - begin
    assert len(frame) > 600_000
    assert {wait.kind for wait in waits} == {"limited"}
    assert waited_s >= max(wait.wait_s for wait in waits) > 1


def test_limits_without_retries(server: Server, market_data: Path) -> None:
    limited = new_key(market_data, rpm="2")
    with Client(server.url, limited, retry=False) as client:
        client.coverage(SOL)
        client.coverage(SOL)
        with pytest.raises(LimitError) as caught:
            client.coverage(SOL)
    assert caught.value.status == 429
    assert caught.value.retry_after is not None
    assert caught.value.retry_after > 0


def test_a_server_that_lost_its_key_says_so(server: Server, market_data: Path) -> None:
    made = fathom("keys", "create", "--tier", "premium", "--data", str(market_data))
    with Client(server.url, made["key"]) as client:
        client.usage()
        fathom("keys", "revoke", made["id"], "--data", str(market_data))
        # Within a second; premium keys have 12 requests a minute.
        with pytest.raises(AuthError):
            follow_to_the_end(client)


def follow_to_the_end(client: Client) -> None:
    for _ in client.follow(SOL, heartbeats=True):
        pass
