/** Order books by the plainest rules: maps by price text, complete states, moments looked up. */

export interface PlainUpdate {
  /** Epoch milliseconds. */
  ms: number;
  firstId: number;
  lastId: number;
  bids: [string, string][];
  asks: [string, string][];
}

export interface PlainSnapshot {
  lastId: number;
  bids: [string, string][];
  asks: [string, string][];
}

interface PlainBook {
  bids: number[][];
  asks: number[][];
}

const sorted = (side: Map<string, string>, sign: 1 | -1) =>
  [...side.entries()]
    .map(([price, size]) => [Number(price), Number(size)])
    .sort((a, b) => (b[0] - a[0]) * sign);

/** Price texts may differ in trailing zeros. */
const keyOf = (price: string) => String(Number(price));

const put = (side: Map<string, string>, levels: [string, string][]) => {
  for (const [price, size] of levels) {
    if (Number(size) === 0) side.delete(keyOf(price));
    else side.set(keyOf(price), size);
  }
};

/** The book after every update that reaches past the snapshot, with the update's time. */
export function replayPlainly(
  snapshot: PlainSnapshot,
  updates: PlainUpdate[],
  wanted: (ms: number, index: number) => boolean,
): { ms: number; lastId: number; book: PlainBook }[] {
  const bids = new Map<string, string>();
  const asks = new Map<string, string>();
  put(bids, snapshot.bids);
  put(asks, snapshot.asks);
  const states: { ms: number; lastId: number; book: PlainBook }[] = [];
  const live = updates.filter((update) => update.lastId > snapshot.lastId);
  live.forEach((update, i) => {
    put(bids, update.bids);
    put(asks, update.asks);
    if (!wanted(update.ms, i)) return;
    const book = { bids: sorted(bids, 1), asks: sorted(asks, -1) };
    states.push({ ms: update.ms, lastId: update.lastId, book });
  });
  return states;
}
