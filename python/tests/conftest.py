"""Servers for tests, really started, and the TypeScript client beside them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from fathom_client import Client

ROOT = Path(__file__).parents[2]
MAIN = ROOT / "dist/server/cli/main.js"
HERE = Path(__file__).parent

NOW_S = 1_794_659_696
"""The frozen clock of the simulated market."""
MINUTE = "Minute1111111111111111111111111111111111111"
MINUTES = 3000
SYMBOLS = ["SOL", "BARN", "WETH"]

PATIENCE_S = 240
"""Ends what hangs; no test waits that long."""


def environment(**extra: str) -> dict[str, str]:
    """This process's variables without those that configure Fathom."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FATHOM_")}
    return {**kept, **extra}


def fathom(*words: str, stdin: str | None = None) -> Any:
    """Runs a command. Returns the document it prints with --json."""
    command = ["node", str(MAIN), *words, "--json"]
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, env=environment(), timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def drain(stream: IO[str]) -> None:
    with stream:
        stream.read()


class Server:
    """A server of its own on a store, until it is stopped."""

    def __init__(self, data: Path, *flags: str) -> None:
        self.data = data
        self._flags = flags
        self._begin()

    def _begin(self) -> None:
        command = ["node", str(MAIN), "serve", "--data", str(self.data), "--port", "0"]
        self._process = subprocess.Popen(
            [*command, "--log-format", "json", *self._flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(),
        )
        lines = []
        assert self._process.stdout is not None
        for line in self._process.stdout:
            lines.append(line)
            found = re.search(r'"url":"(http://[^"]+)"', line)
            if found:
                self.url = found[1]
                self.port = int(self.url.rsplit(":", 1)[1])
                # Reads on, so that the server never waits for its log.
                threading.Thread(target=drain, args=(self._process.stdout,), daemon=True).start()
                return
        raise AssertionError("".join(lines))

    def kill(self) -> None:
        """As the kernel does when memory ends."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(PATIENCE_S)

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(PATIENCE_S)

    def restart(self) -> None:
        """Starts again, on another port: the old one may be somebody else's by now."""
        self._begin()


@pytest.fixture(scope="session")
def market_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a part of the simulated market."""
    data = tmp_path_factory.mktemp("market") / "data"
    command = ["node", str(HERE / "market.mjs"), str(data), str(NOW_S), *SYMBOLS]
    subprocess.run(command, check=True, timeout=PATIENCE_S, env=environment())
    ingest(data, [minute(NOW_S - 60 * ago) for ago in range(MINUTES)])
    return data


def minute(t: int) -> dict[str, Any]:
    """A snapshot of a token that has one a minute, and a second venue since 600 minutes."""
    venues = ["Kraken"] if t < NOW_S - 36_000 else ["Kraken", "Coinbase"]
    return snapshot(MINUTE, t, [[-1, t % 1000 + 0.25, 0], [0, 3, 4.5], [1, 0, 7]], venues)


def snapshot(
    token: str, t: int, cells: list[Any], venues: Sequence[str] = ("Kraken",)
) -> dict[str, Any]:
    """A line of the dataset `snapshots`."""
    chain = "evmchain" if token.startswith("0x") else "mainchain"
    markets = [
        {"source": venue, "exchange_type": "CEX", "pair": "A/USD", "cells": cells}
        for venue in venues
    ]
    return {"chain": chain, "address": token, "t": t, "price_usd": 2, "markets": markets}


def ingest(data: Path, snapshots: list[Any]) -> None:
    lines = "".join(f"{json.dumps(one)}\n" for one in snapshots)
    fathom("ingest", "snapshots", "-", "--format", "ndjson", "--data", str(data), stdin=lines)


@pytest.fixture(scope="session")
def key(market_data: Path) -> str:
    """A key without limits."""
    return new_key(market_data)


def new_key(data: Path, tier: str = "enterprise", rpm: str = "unlimited") -> str:
    made = fathom("keys", "create", "--tier", tier, "--rpm", rpm, "--data", str(data))
    text: str = made["key"]
    return text


@pytest.fixture(scope="session")
def server(market_data: Path, key: str) -> Iterator[Server]:
    """Serves the market."""
    server = Server(market_data, "--as-of", str(NOW_S))
    yield server
    server.stop()


@pytest.fixture
def client(server: Server, key: str) -> Iterator[Client]:
    with Client(server.url, key) as client:
        yield client


TypeScript = Callable[..., Any]


@pytest.fixture(scope="session")
def typescript(server: Server, key: str) -> Iterator[TypeScript]:
    """What the TypeScript client returns: `typescript("getScore", {"address": ...})`."""
    process = subprocess.Popen(
        ["node", str(HERE / "typescript.mjs")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(FATHOM_URL=server.url, FATHOM_KEY=key),
    )
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None
    assert stdout is not None

    def call(method: str, *given: Any) -> Any:
        stdin.write(json.dumps([method, *given]) + "\n")
        stdin.flush()
        return json.loads(stdout.readline())

    yield call
    stdin.close()
    process.wait(PATIENCE_S)
    stdout.close()
