/**
 * Books of captures, rebuilt in the plainest way: every message of a symbol changes a list of levels. It knows no
 * sequence and no checksum, and so is right only for a capture without a loss. A second opinion on collect's readers.
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

type Json = ReturnType<typeof JSON.parse>;
/** `[side, price, size]`: the size is the new total. */
type Change = ['bid' | 'ask', number, number];

export interface PlainMessage {
  /** Which line of the files it is. */
  line: number;
  symbol: string;
  /** Whether it is the whole book. */
  whole: boolean;
  /** Microseconds; null: that of the line. */
  us: number | null;
  lineUs: number;
  changes: Change[];
  /** Drops what the book from REST already has. */
  isOld?: (snapshot: Json) => boolean;
  rest?: Json;
}

const both = (bids: Json[], asks: Json[]): Change[] => [
  ...bids.map((l): Change => ['bid', Number(l[0]), Number(l[1])]),
  ...asks.map((l): Change => ['ask', Number(l[0]), Number(l[1])]),
];
const sideOf = (word: string): 'bid' | 'ask' => (/^b/i.test(word) ? 'bid' : 'ask');

type Found = Omit<PlainMessage, 'line' | 'lineUs'>;

/** What a message of each exchange says, by hand. */
const PLAIN: Record<string, (m: Json, memory: Map<unknown, number>) => Found[]> = {
  bitget: (m) =>
    m.arg?.channel === 'books' && m.data
      ? m.data.map((d: Json) => ({
          symbol: m.arg.instId,
          whole: m.action === 'snapshot',
          us: Number(d.ts) * 1000,
          changes: both(d.bids, d.asks),
        }))
      : [],
  bitmex: (m, prices) =>
    m.table === 'orderBookL2' && m.data?.length > 0
      ? [
          {
            symbol: m.data[0].symbol,
            whole: m.action === 'partial',
            us: null,
            changes: m.data.map((row: Json): Change => {
              if (row.price) prices.set(`${row.symbol}${row.id}`, row.price);
              const size = m.action === 'delete' ? 0 : row.size;
              return [sideOf(row.side), prices.get(`${row.symbol}${row.id}`)!, size];
            }),
          },
        ]
      : [],
  bitstamp: (m) =>
    m.event === 'data' && /^diff_order_book/.test(m.channel)
      ? [
          {
            symbol: m.channel.split('_')[3],
            whole: false,
            us: Number(m.data.microtimestamp),
            changes: both(m.data.bids, m.data.asks),
            isOld: (r) => Number(m.data.microtimestamp) <= Number(r.microtimestamp),
          },
        ]
      : [],
  bybit: (m) => {
    if (/^orderbook/.test(m.topic))
      return [
        {
          symbol: m.data.s,
          whole: m.type === 'snapshot',
          us: m.ts * 1000,
          changes: both(m.data.b, m.data.a),
        },
      ];
    if (!/^orderBookL2_25/.test(m.topic)) return [];
    const rows =
      m.type === 'snapshot'
        ? m.data.order_book
        : [
            ...m.data.delete.map((r: Json) => ({ ...r, size: 0 })),
            ...m.data.update,
            ...m.data.insert,
          ];
    return [
      {
        symbol: m.topic.split('.')[1],
        whole: m.type === 'snapshot',
        us: Number(m.timestamp_e6),
        changes: rows.map((r: Json): Change => [sideOf(r.side), Number(r.price), Number(r.size)]),
      },
    ];
  },
  coinbase: (m) => {
    const us = m.time ? Date.parse(m.time) * 1000 : 0;
    if (m.type === 'snapshot')
      return [{ symbol: m.product_id, whole: true, us, changes: both(m.bids, m.asks) }];
    if (m.type !== 'l2update') return [];
    const changes = m.changes.map((c: Json): Change => [sideOf(c[0]), Number(c[1]), Number(c[2])]);
    return [{ symbol: m.product_id, whole: false, us, changes }];
  },
  'dydx-v3': (m, offsets) => {
    if (m.channel !== 'v3_orderbook' || !m.contents) return [];
    const changes: Change[] = [];
    for (const side of ['bids', 'asks'])
      for (const l of m.contents[side]) {
        const [price, size, offset] = Array.isArray(l)
          ? [l[0], l[1], Number(m.contents.offset)]
          : [l.price, l.size, Number(l.offset)];
        const key = m.id + side + price;
        if (offset <= (offsets.get(key) ?? 0)) continue;
        offsets.set(key, offset);
        changes.push([sideOf(side), Number(price), Number(size)]);
      }
    return [{ symbol: m.id, whole: m.type === 'subscribed', us: null, changes }];
  },
  gemini: (m) =>
    m.type === 'l2_updates'
      ? [
          {
            symbol: m.symbol,
            whole: m.trades !== undefined,
            us: null,
            changes: m.changes.map((c: Json): Change => [sideOf(c[0]), Number(c[1]), Number(c[2])]),
          },
        ]
      : [],
  hyperliquid: (m) =>
    m.channel === 'l2Book'
      ? [
          {
            symbol: m.data.coin,
            whole: true,
            us: m.data.time * 1000,
            changes: both(
              m.data.levels[0].map((l: Json) => [l.px, l.sz]),
              m.data.levels[1].map((l: Json) => [l.px, l.sz]),
            ),
          },
        ]
      : [],
  kraken: (m) => {
    if (!Array.isArray(m) || !String(m.at(-2)).startsWith('book')) return [];
    const parts = m.slice(1, -2);
    const whole = parts[0].as !== undefined;
    const bids = parts.flatMap((p: Json) => p.bs ?? p.b ?? []);
    const asks = parts.flatMap((p: Json) => p.as ?? p.a ?? []);
    const times = [...bids, ...asks].map((l: Json) => Math.round(Number(l[2]) * 1e6));
    return [{ symbol: m.at(-1), whole, us: Math.max(...times), changes: both(bids, asks) }];
  },
  'kraken-futures': (m) => {
    const base = { symbol: m.product_id, us: m.timestamp * 1000 };
    const pairs = (list: Json[]) => list.map((l: Json) => [l.price, l.qty]);
    if (m.feed === 'book_snapshot')
      return [{ ...base, whole: true, changes: both(pairs(m.bids), pairs(m.asks)) }];
    if (m.feed !== 'book' || m.seq === undefined) return [];
    return [{ ...base, whole: false, changes: [[sideOf(m.side), m.price, m.qty]] }];
  },
  kucoin: (m) =>
    /^.market.level2:/.test(m.topic)
      ? [
          {
            symbol: m.data.symbol,
            whole: false,
            us: null,
            changes: both(m.data.changes.bids, m.data.changes.asks).filter((c) => c[1] > 0),
            isOld: (r) => m.data.sequenceEnd <= Number(r.data.sequence),
          },
        ]
      : [],
  okx: (m) => PLAIN.bitget(m, new Map()),
};
/** Levels of a side that the exchange keeps up to date. */
const DEPTH: Record<string, number> = { kraken: 1000, okx: 400 };

/** The symbol and the book of a line of a REST file. */
function restOf(exchange: string, url: string, m: Json): Found {
  const symbol = new URL(url).searchParams.get('symbol') ?? url.split('/').at(-1)!;
  const data = m.data ?? m;
  const us = exchange === 'bitstamp' ? Number(m.microtimestamp) : null;
  return { symbol, whole: true, us, changes: both(data.bids, data.asks), rest: m };
}

/** The messages about books in the files, in the order of the lines' times. */
export function readPlainly(exchange: string, files: readonly string[]): PlainMessage[] {
  const memory = new Map<unknown, number>();
  const lines = files.flatMap((file) => {
    const bytes = readFileSync(file);
    const text = (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString();
    return text.split('\n').filter((line) => line !== '' && !/ (<->|<-) /.test(line.slice(0, 300)));
  });
  const timed = lines.map((text, line) => {
    const url = /^(\S+) -> /.exec(text)?.[1] ?? null;
    const body = text.slice(/[[{]/.exec(text)!.index);
    const time =
      url === null ? Number(/^[\d.]+/.exec(text)?.[0]) : Number(/-> ([\d.]+)/.exec(text)![1]);
    const lineUs = Math.round(time > 1e18 ? time / 1000 : time * 1e6);
    return { line, url, body, lineUs };
  });
  // Stable: lines without a time keep their order.
  timed.sort((a, b) => (a.lineUs > b.lineUs ? 1 : a.lineUs < b.lineUs ? -1 : 0));
  return timed.flatMap(({ line, url, body, lineUs }) => {
    const m = JSON.parse(body);
    const found = url === null ? PLAIN[exchange](m, memory) : [restOf(exchange, url, m)];
    return found.map((message) => ({ ...message, line, lineUs }));
  });
}

export interface PlainBook {
  bids: [number, number][];
  asks: [number, number][];
}

/** The book of a symbol after each message that changes it, best levels first, at the greatest time so far. */
export function* booksOf(
  exchange: string,
  messages: readonly PlainMessage[],
  symbol: string,
): Generator<{ us: number; line: number; book: () => PlainBook }> {
  let levels: Change[] | null = null;
  let snapshot: Json = null;
  let us = 0;
  const own = messages.filter((message) => message.symbol === symbol);
  const waiting: PlainMessage[] = [];
  const apply = (message: PlainMessage): void => {
    for (const [side, price, size] of message.changes) {
      levels = levels!.filter((level) => level[0] !== side || level[1] !== price);
      if (size > 0) levels.push([side, price, size]);
    }
    const most = DEPTH[exchange] ?? Infinity;
    for (const side of ['bid', 'ask'] as const) {
      const beyond = sorted(levels!, side).slice(most);
      if (beyond.length === 0) continue;
      levels = levels!.filter((l) => l[0] !== side || !beyond.some(([price]) => price === l[1]));
    }
  };
  for (const message of own) {
    if (message.whole) {
      [levels, snapshot] = [[], message.rest ?? null];
      apply(message);
      for (const held of waiting.splice(0)) if (!held.isOld!(snapshot)) apply(held);
    } else if (levels === null) {
      if (message.isOld !== undefined) waiting.push(message);
      continue;
    } else if (snapshot !== null && message.isOld!(snapshot)) continue;
    else apply(message);
    us = Math.max(us, message.us ?? message.lineUs);
    const now: Change[] = levels;
    yield {
      us,
      line: message.line,
      book: () => ({ bids: sorted(now, 'bid'), asks: sorted(now, 'ask') }),
    };
  }
}

function sorted(levels: Change[], side: 'bid' | 'ask'): [number, number][] {
  return levels
    .filter((level) => level[0] === side)
    .map(([, price, size]): [number, number] => [price, size])
    .sort((a, b) => (side === 'bid' ? b[0] - a[0] : a[0] - b[0]));
}
