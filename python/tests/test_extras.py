"""What works without the extras, and what then says which one to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas
import polars
import pytest

from conftest import NOW_S, Server, environment
from fathom_client import Client

TOKEN = "0xd584e5d8be7dac514a5380357cb8988f1c16c040"
START = NOW_S - 6 * 3600
EXTRAS = ["pyarrow", "polars", "pandas", "numpy"]


def run(program: str, missing: list[str], *words: str) -> str:
    """What a program prints in a process to which some modules are missing."""
    begin = f"import sys; sys.modules.update(dict.fromkeys({missing}))\n"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", begin + program, *words],
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


BARE = """
from fathom_client import Client
top = {name.split(".")[0] for name in sys.modules if sys.modules[name] is not None}
top -= sys.stdlib_module_names
_, url, key, token, start, end = sys.argv
with Client(url, key) as fathom:
    replay = fathom.replay(token, start, end)
    print(sum(page.row_count for page in replay.pages()))
    print(fathom.score(token).service_score is not None)
    print(next(fathom.follow(token, start)).type)
    for name in ["to_polars", "to_pandas", "to_arrow"]:
        try:
            getattr(replay, name)()
        except ImportError as error:
            print(error)
    try:
        replay.to_parquet("no-such-file")
    except ImportError as error:
        print(error)
print(sorted(one for one in top if "httpx" in one or one.startswith(("fathom", "web", "req"))))
"""


def test_alone_it_needs_one_http_library(client: Client, server: Server, key: str) -> None:
    printed = run(BARE, EXTRAS, server.url, key, TOKEN, str(START), str(NOW_S)).splitlines()
    plan = client.replay_plan(TOKEN, START, NOW_S)
    assert printed == [
        str(plan.row_count),
        "True",
        "snapshots",
        "this needs polars: pip install 'fathom-client[polars]'",
        "this needs pandas: pip install 'fathom-client[pandas]'",
        "this needs pyarrow: pip install 'fathom-client[arrow]'",
        "this needs pyarrow: pip install 'fathom-client[arrow]'",
        "['fathom_client', 'httpx']",
    ]


FRAMES = """
from fathom_client import Client
_, url, key, token, start, end, library, out = sys.argv
with Client(url, key) as fathom:
    replay = fathom.replay(token, start, end)
    if library == "pandas":
        replay.to_pandas().to_pickle(out)
    else:
        assert len(replay.to_polars()) > 0
        replay.to_parquet(out)
"""


def test_pandas_without_pyarrow(client: Client, server: Server, key: str, tmp_path: Path) -> None:
    out = tmp_path / "frame.pickle"
    words = [server.url, key, TOKEN, str(START), str(NOW_S), "pandas", str(out)]
    run(FRAMES, ["pyarrow", "polars"], *words)
    found = pandas.read_pickle(out)
    expected = client.replay(TOKEN, START, NOW_S).to_pandas()
    assert found["price"].tolist() == pytest.approx(expected.pop("price").tolist(), rel=1e-14)
    texts = list(expected.select_dtypes("category"))
    # pandas without pyarrow keeps even the columns' names otherwise.
    assert list(found.columns.drop("price")) == list(expected.columns)
    for name, column in expected.items():
        other = found[name].astype(object) if name in texts else found[name]
        same = column.astype(object) if name in texts else column
        assert other.dtype == same.dtype
        assert other.equals(same)


def test_parquet_without_pyarrow(client: Client, server: Server, key: str, tmp_path: Path) -> None:
    out = tmp_path / "cells.parquet"
    words = [server.url, key, TOKEN, str(START - 86_400), str(NOW_S), "polars", str(out)]
    run(FRAMES, ["pyarrow", "pandas", "numpy"], *words)
    expected = client.replay(TOKEN, START - 86_400, NOW_S).to_polars()
    assert polars.read_parquet(out).equals(expected)


DYING = """
import os
from fathom_client import Client
_, url, key, token, start, end, out = sys.argv
replies = []
def die(headers, status):
    replies.append(status)
    if len(replies) == 5:
        os.kill(os.getpid(), 9)
Client(url, key, on_reply=die).replay(token, start, end, ahead=1).to_parquet(out)
"""


def test_a_killed_download_continues(server: Server, key: str, tmp_path: Path) -> None:
    out = tmp_path / "cells.parquet"
    window = (NOW_S - 20 * 86_400, NOW_S)
    words = [server.url, key, TOKEN, *map(str, window), str(out)]
    program = subprocess.run(
        [sys.executable, "-c", f"import sys\n{DYING}", *words], env=environment()
    )
    assert program.returncode == -9
    assert not out.exists()
    replies: list[int] = []
    with Client(server.url, key, on_reply=lambda _, status: replies.append(status)) as client:
        expected = client.replay(TOKEN, *window).to_polars()
        pages = len(client.replay_plan(TOKEN, *window).pages)
        replies.clear()
        client.replay(TOKEN, *map(str, window), ahead=1).to_parquet(out)
        # Four pages had come.
        assert len(replies) == pages - 4
        assert polars.read_parquet(out).equals(expected)
        assert [one.name for one in tmp_path.iterdir()] == ["cells.parquet"]
