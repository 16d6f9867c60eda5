"""Stores the order book of an exchange at every interval, by `fathom ingest`."""

import json
import os
import subprocess
import sys
import time
import urllib.request

URL = os.environ.get("BOOK_URL") or sys.exit("BOOK_URL: expected the address of the book")
EVERY_S = int(os.environ.get("EVERY_S", "60"))
VENUE = os.environ.get("VENUE", "My Exchange")
# Not TOKEN, which the demo's lines set to an address alone.
CHAIN_TOKEN = os.environ.get("CHAIN_TOKEN", "mainchain:So11111111111111111111111111111111111111112")
CHAIN, _, ADDRESS = CHAIN_TOKEN.partition(":")
if not ADDRESS:
    sys.exit(f"CHAIN_TOKEN: expected CHAIN:ADDRESS, not {CHAIN_TOKEN}")
DATA = os.environ.get("DATA", "data")
FATHOM = os.environ.get("FATHOM", "fathom")
ROUNDS = int(os.environ.get("ROUNDS", sys.maxsize))

TIMEOUT_S = 5
MAX_BOOK_BYTES = 16 * 1024 * 1024

Levels = list[tuple[float, float]]


def read_book() -> tuple[Levels, Levels]:
    """The exchange's bids and asks, as prices in USD and sizes in tokens.

    Raises:
        ValueError: the book is not one to store.
        OSError: the exchange does not answer.
    """
    with urllib.request.urlopen(URL, timeout=TIMEOUT_S) as reply:
        book = json.loads(reply.read(MAX_BOOK_BYTES))
    bids, asks = (
        [(float(price), float(size)) for price, size in book[side]] for side in ("bids", "asks")
    )
    age_s = time.time() - book["time"] / 1000
    if age_s > EVERY_S:
        raise ValueError(f"the book is {age_s:.0f} s old")
    if not bids or not asks:
        raise ValueError("a side of the book is empty")
    if max(bids)[0] >= min(asks)[0]:
        raise ValueError("the book is crossed")
    return bids, asks


def store(t: int, bids: Levels, asks: Levels) -> None:
    """Stores the book as a snapshot of the second `t`, beside what is stored of other markets."""
    market = {"chain": CHAIN, "address": ADDRESS, "source": VENUE, "exchange_type": "CEX"}
    rows = [
        json.dumps({**market, "t": t, "side": side, "price": price, "size": size})
        for side, levels in (("bid", bids), ("ask", asks))
        for price, size in levels
    ]
    words = ["ingest", "levels", "-", "--format", "ndjson", "--merge", "--data", DATA]
    done = subprocess.run([FATHOM, *words], input="\n".join(rows), text=True, capture_output=True)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip())


for _ in range(ROUNDS):
    # All collectors take their books at multiples of the interval, so that snapshots meet.
    time.sleep(EVERY_S - time.time() % EVERY_S)
    t = int(time.time())
    try:
        store(t, *read_book())
        print(f"{t}: stored", flush=True)
    except (ValueError, KeyError, TypeError, OSError) as error:
        print(f"{t}: left out: {error}", file=sys.stderr, flush=True)
