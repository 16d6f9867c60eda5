/** Pages by ClickHouse's SQL, as rows or as arrays per snapshot; it writes and compresses the JSON. */
import type { PlainSnapshot } from './content.js';
import type { PeerWay } from './peer.js';
import type { PageWindow } from '../cases/request.js';

/** Its HTTP compression's levels, each way with both. */
const ZLIB_LEVELS = [1, 3];
/** One thread per query keeps a sorted subquery's rows in order; clients keep both cores busy. */
const SETTINGS = '&max_threads=1&enable_http_compression=1&http_zlib_compression_level=';

export const CLICKHOUSE_WAYS: readonly PeerWay[] = ZLIB_LEVELS.flatMap((level) => [
  rowsWay(level),
  arraysWay(level),
]);

function where({ token, from, to }: PageWindow): string {
  return `WHERE token = ${token} AND t >= ${from} AND t < ${to}`;
}

function pathOf(sql: string, level: number): string {
  return `/?query=${encodeURIComponent(sql)}${SETTINGS}${level}`;
}

/** The parts that both ways share. */
function wayOf(name: string, level: number): Omit<PeerWay, 'snapshotsOf' | 'pathOf'> {
  return { name, state: 'cold', coding: `gzip ${level}`, acceptEncoding: 'gzip' };
}

function ordered(window: PageWindow): string {
  return `SELECT t, market, bin, support_usd, resistance_usd FROM cells ${where(window)} ORDER BY t, market, bin`;
}

function pricesOf(window: PageWindow): string {
  return `ANY INNER JOIN (SELECT t, price_usd FROM snapshots ${where(window)}) AS p USING (t)`;
}

function rowsWay(level: number): PeerWay {
  return {
    ...wayOf('rows, JSONCompact', level),
    pathOf: (window) =>
      pathOf(
        `SELECT t, price_usd, market, bin, support_usd, resistance_usd FROM cells ${pricesOf(window)} ${where(window)} ORDER BY t, market, bin FORMAT JSONCompact`,
        level,
      ),
    snapshotsOf(document) {
      const snapshots: PlainSnapshot[] = [];
      for (const [t, price, market, bin, support, resistance] of rowsOf<number[]>(document)) {
        if (snapshots.at(-1)?.t !== t) {
          const none = { market_idx: [], bin: [], support_usd: [], resistance_usd: [] };
          snapshots.push({ t, price_usd: price, ...none });
        }
        const open = snapshots[snapshots.length - 1];
        open.market_idx.push(market);
        open.bin.push(bin);
        open.support_usd.push(support);
        open.resistance_usd.push(resistance);
      }
      return snapshots;
    },
  };
}

type ArraysRow = [number, number, number[], number[], number[], number[]];

function arraysWay(level: number): PeerWay {
  const arrays =
    'groupArray(market) AS m, groupArray(bin) AS b, groupArray(support_usd) AS s, groupArray(resistance_usd) AS r';
  return {
    ...wayOf('groupArray, JSONCompact', level),
    pathOf: (window) =>
      pathOf(
        `SELECT t, price_usd, m, b, s, r FROM (SELECT t, ${arrays} FROM (${ordered(window)}) AS o GROUP BY t) AS c ${pricesOf(window)} ORDER BY t FORMAT JSONCompact`,
        level,
      ),
    snapshotsOf: (document) =>
      rowsOf<ArraysRow>(document).map(
        ([t, price_usd, market_idx, bin, support_usd, resistance_usd]) => {
          return { t, price_usd, market_idx, bin, support_usd, resistance_usd };
        },
      ),
  };
}

function rowsOf<Row>(document: unknown): Row[] {
  return (document as { data: Row[] }).data;
}
