"""Following: kills, restarts, silence, late data and deletions; what is held is what /replay shows."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fathom_client.follow
from conftest import PATIENCE_S, Server, environment, fathom, ingest, new_key, snapshot
from fathom_client import Client, LiveDeleted, LiveMessage, LiveRevised, LiveSnapshots, Wait
from proxy import Proxy

TOKEN = "Fo11owed111111111111111111111111111111111111"
CELLS = [[-1, 2.25, 0], [1, 0, 4]]


class Live:
    """A store of a token's last minutes, and its server."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.now = int(time.time()) - 600
        self.put(*range(-300, 1, 60))
        self.key = new_key(data)
        self.server = Server(data)

    def put(self, *offsets: int, cells: list[Any] = CELLS) -> None:
        """Stores snapshots at seconds after the last one."""
        ingest(self.data, [snapshot(TOKEN, self.now + offset, cells) for offset in offsets])

    def delete(self, offset: int) -> None:
        t = self.now + offset
        window = ["--from", str(t), "--to", str(t + 1), "--yes"]
        fathom("delete", "--token", f"mainchain:{TOKEN}", *window, "--data", str(self.data))

    def shown(self, client: Client) -> dict[int, list[float]]:
        pages = client.replay(TOKEN, self.now - 3600, "now").pages()
        return {one.t: one.support_usd for page in pages for one in page.snapshots}


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    live = Live(tmp_path / "data")
    yield live
    live.server.stop()


class Follower:
    """Follows in a thread, and holds what it is told."""

    def __init__(self, client: Client, **given: Any) -> None:
        self.held: dict[int, list[float]] = {}
        self.messages: queue.Queue[LiveMessage | BaseException] = queue.Queue()
        self._client, self._given = client, given
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for message in self._client.follow(TOKEN, heartbeats=True, **self._given):
                take(self.held, message)
                self.messages.put(message)
                if self._stop.is_set():
                    return
        except BaseException as error:  # noqa: BLE001
            self.messages.put(error)

    def until(self, kind: type[LiveMessage]) -> Any:
        """The next message of a type."""
        while True:
            message = self.messages.get(timeout=PATIENCE_S)
            if isinstance(message, BaseException):
                raise message
            if isinstance(message, kind):
                return message

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()


def take(held: dict[int, list[float]], message: LiveMessage) -> None:
    if isinstance(message, LiveDeleted):
        for t in message.t:
            held.pop(t, None)
    if isinstance(message, (LiveSnapshots, LiveRevised)):
        held.update({one.t: one.support_usd for one in message.snapshots})


def test_history_then_changes_of_every_kind(live: Live) -> None:
    with Client(live.server.url, live.key) as client:
        follower = Follower(client, start=live.now - 3600)
        first = follower.until(LiveSnapshots)
        assert [one.t for one in first.snapshots] == list(range(live.now - 300, live.now + 1, 60))
        assert (first.snapshots[0].bin, first.snapshots[0].support_usd) == ([-1, 1], [2.25, 0.0])
        live.put(60)
        assert [one.t for one in follower.until(LiveSnapshots).snapshots] == [live.now + 60]
        # Late, then replaced.
        live.put(-90)
        assert [one.t for one in follower.until(LiveRevised).snapshots] == [live.now - 90]
        live.put(-90, cells=[[-1, 9, 0]])
        assert follower.until(LiveRevised).snapshots[0].support_usd == [9.0]
        live.delete(-120)
        assert follower.until(LiveDeleted).t == [live.now - 120]
        assert follower.held == live.shown(client)
        follower.stop()


def test_goes_on_through_kills_and_restarts(live: Live) -> None:
    waits: list[Wait] = []
    proxy = Proxy(live.server.port)
    with Client(proxy.url, live.key, on_wait=waits.append) as client:
        follower = Follower(client, start=live.now - 3600)
        follower.until(LiveSnapshots)
        for number, end in enumerate([live.server.kill, live.server.stop, live.server.kill], 1):
            end()
            # While nobody serves: a new one, a late one, and one less.
            live.put(60 * number, -300 + 7 * number)
            live.delete(-60 * number)
            live.server.restart()
            proxy.port = live.server.port
            follower.until(LiveSnapshots)
        follower.until(fathom_client.LiveHeartbeat)
        assert follower.held == live.shown(client)
        follower.stop()
    proxy.close()
    assert {wait.kind for wait in waits} == {"connection"}


def test_leaves_a_silent_connection(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = Proxy(live.server.port)
    waits: list[Wait] = []
    with Client(proxy.url, live.key, on_wait=waits.append) as client:
        follower = Follower(client, start=live.now - 3600)
        follower.until(LiveSnapshots)
        proxy.silence()
        live.put(60)
        # It comes once the client has given the connection up.
        assert [one.t for one in follower.until(LiveSnapshots).snapshots] == [live.now + 60]
        assert any("silent" in wait.message for wait in waits)
        assert proxy.connections >= 2
        proxy.cut()
        live.put(120)
        assert [one.t for one in follower.until(LiveSnapshots).snapshots] == [live.now + 120]
        follower.stop()
    proxy.close()


FOLLOW = """
import sys
from fathom_client import Client
_, url, key, token, start, file = sys.argv
for message in Client(url, key).follow(token, int(start), cursor_file=file):
    for one in getattr(message, "snapshots", []):
        print(one.t, flush=True)
"""


def test_a_killed_program_continues_by_its_cursor_file(live: Live, tmp_path: Path) -> None:
    file = tmp_path / "cursor"

    def run(until: int) -> list[int]:
        """The times that a program prints until it is killed, as soon as it has printed one."""
        words = [live.server.url, live.key, TOKEN, str(live.now - 3600), str(file)]
        program = subprocess.Popen(
            [sys.executable, "-c", FOLLOW, *words],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        assert program.stdout is not None
        printed: list[int] = []
        while until not in printed:
            printed.append(int(program.stdout.readline()))
        program.kill()
        program.wait()
        program.stdout.close()
        return printed

    history = list(range(live.now - 300, live.now + 1, 60))
    assert run(live.now) == history
    # It may have been killed before it asked for the next message: then the same comes again.
    live.put(60)
    assert run(live.now + 60) in ([*history, live.now + 60], [live.now + 60])
    with Client(live.server.url, live.key) as client:
        for message in client.follow(TOKEN, cursor_file=file, heartbeats=True):
            if message.type == "heartbeat":
                break
        with pytest.raises(ValueError, match="belongs to another request"):
            next(client.follow(TOKEN, group="all", cursor_file=file))
        live.put(120)
        # A cursor is a better place than a start.
        message = next(client.follow(TOKEN, live.now - 3600, cursor_file=file))
        assert isinstance(message, LiveSnapshots)
        assert message.snapshots[-1].t == live.now + 120
        assert len(message.snapshots) < 4


def test_takes_back_what_a_killed_program_may_have_handled(live: Live, tmp_path: Path) -> None:
    file = tmp_path / "cursor"
    with Client(live.server.url, live.key) as client:
        # As a killed program leaves the file.
        history = next(client.follow(TOKEN, "-1h", cursor_file=file))
        assert isinstance(history, LiveSnapshots)
        times = [one.t for one in history.snapshots]
        assert json.loads(file.read_text())["handling"]["t"] == times
        live.delete(-60)
        told: list[LiveMessage] = []
        for message in client.follow(TOKEN, cursor_file=file, heartbeats=True):
            told.append(message)
            if message.type == "heartbeat":
                break
        taken_back, repeated = told[:2]
        assert isinstance(taken_back, LiveDeleted)
        assert isinstance(repeated, LiveSnapshots)
        assert taken_back.t == times
        assert [one.t for one in repeated.snapshots] == [t for t in times if t != live.now - 60]
        assert "handling" not in json.loads(file.read_text())
        live.put(240)
        message = next(client.follow(TOKEN, cursor_file=file))
        assert isinstance(message, LiveSnapshots)
        assert [one.t for one in message.snapshots] == [live.now + 240]


def test_leaving_the_loop_ends_the_stream(live: Live) -> None:
    proxy = Proxy(live.server.port)
    with Client(proxy.url, live.key) as client:
        for message in client.follow(TOKEN, "-1h"):
            assert isinstance(message, LiveSnapshots)
            break
        assert client.coverage(TOKEN).token == TOKEN
    proxy.close()
