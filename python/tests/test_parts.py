"""Parts that no server is needed for."""

from __future__ import annotations

import asyncio
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
import weakref
from datetime import date, datetime, timedelta, timezone
from email.utils import format_datetime

import pyarrow
import pytest

from conftest import Server, environment
from fathom_client import Client, ReplayPlan
from fathom_client.arrow_metadata import schema_metadata
from fathom_client.documents import decode
from fathom_client.errors import LimitError, NoReplyError, ServerError
from fathom_client.paging import Page, Rest, in_order
from fathom_client.parameters import path_with, text_of
from fathom_client.rate_queue import RateQueue
from fathom_client.retries import RETRY_LIMITS, Retries, kind_of, retry_after_s
from proxy import Proxy


def test_metadata_as_pyarrow_reads_it() -> None:
    pick = random.Random(7)
    for _ in range(50):
        expected = {
            "".join(pick.choices("abcé", k=3)): "x€" * pick.randrange(2000)
            for _ in range(pick.randrange(1, 9))
        }
        fields = [(f"c{i}", pyarrow.int32()) for i in range(pick.randrange(1, 20))]
        sink = io.BytesIO()
        pyarrow.ipc.new_stream(sink, pyarrow.schema(fields, metadata=expected)).close()
        assert schema_metadata(sink.getvalue()) == expected
        cut = sink.getvalue()[: pick.randrange(len(sink.getvalue()) // 2)]
        with pytest.raises(ValueError, match="no Arrow"):
            schema_metadata(cut)
    for text in (b"", b"{}", b"\xff" * 40, json.dumps({"a": 1}).encode()):
        with pytest.raises(ValueError, match="no Arrow"):
            schema_metadata(text)


def test_texts_of_parameters() -> None:
    noon = datetime(2026, 11, 20, 12, tzinfo=timezone(timedelta(hours=2)))
    assert text_of("from", noon) == str(int(noon.timestamp()))
    assert text_of("from", noon + timedelta(microseconds=1)) == str(int(noon.timestamp()) + 1)
    assert text_of("from", date(2026, 11, 20)) == "2026-11-20"
    assert text_of("at", 1.2) == "2"
    assert text_of("usd", [50_000.0, 0.1]) == "50000,0.1"
    assert text_of("details", True) == "true"
    path, query = path_with("/score/{address}", {"address": "a/b?", "at": None, "explain": False})
    assert (path, query) == ("/score/a%2Fb%3F", {"explain": "false"})


def test_retry_after() -> None:
    assert retry_after_s("7") == 7
    assert retry_after_s("x") is None
    assert retry_after_s(None) is None
    soon = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=100), usegmt=True)
    assert 90 < (retry_after_s(soon) or 0) <= 100
    assert retry_after_s("Wed, 21 Oct 2015 07:28:00 GMT") == 0


def test_what_is_retried() -> None:
    assert kind_of(NoReplyError("x")) == "connection"
    assert kind_of(ServerError("x", status=503, code="replay_busy")) == "busy"
    assert kind_of(ServerError("x", status=502)) == "connection"
    assert kind_of(ServerError("x", status=500, code="damaged_data")) is None
    assert kind_of(LimitError("x", status=429, retry_after=3, request_id="r")) == "limited"
    # More than the quota: no wait helps.
    assert kind_of(LimitError("x", status=429, request_id="r")) is None


def test_tries_end() -> None:
    waits: list[float] = []

    def try_for_ever(retries: Retries) -> None:
        while True:
            waits.append(retries.next("connection", NoReplyError("lost")))

    with pytest.raises(NoReplyError, match="gave up"):
        try_for_ever(Retries())
    limit = RETRY_LIMITS["connection"]
    assert len(waits) <= limit.max_tries - 1
    assert sum(waits) <= limit.max_wait_s + 0.1
    for number, wait in enumerate(waits):
        assert min(10, 0.25 * 2**number) <= wait <= 1.5 * min(10, 0.25 * 2**number)
    with pytest.raises(LimitError, match="the limit is 600 s"):
        Retries().next("limited", LimitError("x", status=429, retry_after=700))


def test_limited_requests_go_one_by_one_in_order() -> None:
    async def run() -> list[int]:
        queue = RateQueue()
        queue.limit(0.05)
        order: list[int] = []
        running = 0

        async def request(place: int, left: float) -> None:
            nonlocal running
            await queue.begin(place)
            running += 1
            assert running == 1
            order.append(place)
            await asyncio.sleep(0)
            running -= 1
            queue.end(place, left)

        places = [queue.place() for _ in range(6)]
        tasks = [asyncio.create_task(request(place, 0)) for place in reversed(places)]
        await asyncio.sleep(0)
        tasks[2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # Another one gives way to nobody, once there is room.
        await request(queue.place(), 10)
        await asyncio.wait_for(queue.begin(queue.place()), 1)
        return order

    assert asyncio.run(run()) == [1, 2, 3, 5, 6, 7]


class Data:
    """What a page holds; can be counted."""


def test_a_long_window_holds_only_the_pages_ahead() -> None:
    ahead, pages, alive = 4, 60, weakref.WeakSet[Data]()
    most = 0

    async def fetch_page(rest: Rest | None) -> Page[Data]:
        nonlocal most
        start = 0 if rest is None else rest.start
        data = Data()
        alive.add(data)
        most = max(most, len(alive))
        following = start + 1 if start + 1 < pages else None
        return Page(data, start=0, end=pages, next_from=following, cells=1, snapshots=1)

    async def fetch_plan(rest: Rest) -> ReplayPlan:
        starts = [{"from": start} for start in range(rest.start, pages)]
        return decode(ReplayPlan, {"pages": starts, "next_from": None})

    async def run() -> int:
        return len([page.cells async for page in in_order(fetch_page, fetch_plan, ahead)])

    assert asyncio.run(run()) == pages
    # Those ahead, and the one that the reader has.
    assert ahead <= most <= ahead + 2


INTERRUPTED = """
import signal, sys
from fathom_client import Client
_, url, key = sys.argv
# A shell's background jobs ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
fathom = Client(url, key)
replay = fathom.replay("BARN", "-1d", progress=False)
try:
    print("asking", flush=True)
    replay.to_polars()
except KeyboardInterrupt:
    print("interrupted", flush=True)
sys.stdin.readline()
print(len(replay.to_polars()), flush=True)
"""


def test_an_interruption_ends_the_wait_and_not_the_client(server: Server, key: str) -> None:
    proxy = Proxy(server.port)
    proxy.hold()
    program = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, proxy.url, key],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert program.stdout is not None
    assert program.stdin is not None
    assert program.stdout.readline() == "asking\n"
    while proxy.connections == 0:
        time.sleep(0.01)
    program.send_signal(signal.SIGINT)
    assert program.stdout.readline() == "interrupted\n"
    proxy.release()
    program.stdin.write("\n")
    program.stdin.flush()
    assert int(program.stdout.readline()) > 1000
    program.wait()
    program.stdin.close()
    program.stdout.close()
    proxy.close()


INTERRUPTED_LOOP = """
import signal, sys
from fathom_client import Client
_, url, key, kind = sys.argv
signal.signal(signal.SIGINT, signal.default_int_handler)
fathom = Client(url, key)
items = fathom.follow("BARN") if kind == "follow" else fathom.replay("BARN", "-1d").pages()
print("asking", flush=True)
try:
    next(items)
except BaseException as error:
    print(type(error).__name__, flush=True)
"""


@pytest.mark.parametrize("kind", ["follow", "pages"])
def test_an_interruption_of_a_loop_is_what_its_caller_sees(
    server: Server, key: str, kind: str
) -> None:
    proxy = Proxy(server.port)
    proxy.hold()
    program = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED_LOOP, proxy.url, key, kind],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "asking\n"
    while proxy.connections == 0:
        time.sleep(0.01)
    program.send_signal(signal.SIGINT)
    assert program.stdout.readline() == "KeyboardInterrupt\n"
    assert program.wait() == 0
    program.stdout.close()
    proxy.close()


def test_a_forked_process_has_connections_of_its_own(client: Client) -> None:
    expected = client.find_token("WETH")
    there, here = os.pipe()
    with warnings.catch_warnings():
        # Since Python 3.12, of any fork beside threads.
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        try:
            os.write(here, client.find_token("WETH").encode())
        finally:
            os._exit(0)
    os.close(here)
    assert os.read(there, 100).decode() == expected
    os.close(there)
    os.waitpid(child, 0)
    assert client.score("WETH").address == expected


def test_a_closed_client_says_so(server: Server, key: str) -> None:
    client = Client(server.url, key)
    client.close()
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.usage()
