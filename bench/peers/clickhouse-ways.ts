/** Pages by ClickHouse's SQL, as rows or as one array per snapshot; ClickHouse writes and compresses the JSON. */
import { parsedJson, type PlainSnapshot } from './content.js';
import type { PageWindow } from './page-set.js';
import type { PeerWay } from './peer.js';

/** Levels of its HTTP compression; each way is measured with both. */
const ZLIB_LEVELS = [1, 3];
/** One thread per query keeps the rows of a sorted subquery in order; clients keep both cores busy. */
const SETTINGS =
  '&max_threads=1&use_uncompressed_cache=1&enable_http_compression=1&http_zlib_compression_level=';
/** The database with the tables; the bench creates and drops it. */
export const CLICKHOUSE_DATABASE = 'fathom_bench_peers';

export const CLICKHOUSE_WAYS: readonly PeerWay[] = ZLIB_LEVELS.flatMap((level) => [
  rowsWay(level),
  arraysWay(level),
]);

function where({ token, from, to }: PageWindow): string {
  return `WHERE token = ${token} AND t >= ${from} AND t < ${to}`;
}

function pathOf(sql: string, level: number): string {
  return `/?database=${CLICKHOUSE_DATABASE}&query=${encodeURIComponent(sql)}${SETTINGS}${level}`;
}

/** The parts that both ways share. */
function wayOf(name: string, level: number): Omit<PeerWay, 'snapshotsOf' | 'pathOf'> {
  return { name, state: 'cold', format: 'JSON', coding: `gzip ${level}`, contentCoding: 'gzip' };
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
    snapshotsOf(body) {
      const snapshots: PlainSnapshot[] = [];
      for (const [t, price, market, bin, support, resistance] of rowsOf<number[]>(body)) {
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
    snapshotsOf: (body) =>
      rowsOf<ArraysRow>(body).map(
        ([t, price_usd, market_idx, bin, support_usd, resistance_usd]) => {
          return { t, price_usd, market_idx, bin, support_usd, resistance_usd };
        },
      ),
  };
}

function rowsOf<Row>(body: Uint8Array): Row[] {
  return (parsedJson(body) as { data: Row[] }).data;
}
