/** Parquet files behind nginx: one file per token, of which a client requests the row groups of its window. */
// oxlint-disable-next-line no-restricted-imports
import type { DuckDBConnection } from '@duckdb/node-api';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { treeCpuMs } from '../processes.js';
import type { PlainSnapshot } from './content.js';
import { loadDuckdb, rowsOf } from './duckdb-tables.js';
import { startNginx } from './nginx.js';
import type { PageWindow } from './page-set.js';
import type { Peer, PeerPlace, PeerWay } from './peer.js';

/** Compression within the file: the one with the smallest files. */
const COMPRESSION = 'zstd';

/**
 * About thirty snapshots of a wide page: a client receives little that it did not request. DuckDB's default would make
 * groups of a whole page or more.
 */
const ROW_GROUP_ROWS = 10_240;

/** A row group as described in the file's footer. */
interface RowGroup {
  /** Bytes `from <= offset < to` of the file. */
  from: number;
  to: number;
  /** Epoch seconds of its first and its last row. */
  firstT: number;
  lastT: number;
}

/** What a client knows about a token's file after reading the footer. */
interface ParquetFile {
  file: string;
  rowGroups: readonly RowGroup[];
}

/** @throws NotRunError if nginx is not installed */
export async function startParquet({ folder, files, set }: PeerPlace): Promise<Peer> {
  const home = path.join(folder, 'parquet');
  const root = path.join(home, 'files');
  await mkdir(root, { recursive: true });
  const nginx = await startNginx(path.join(home, 'nginx'), root);
  try {
    const { connection, version, close } = await loadDuckdb(home, files);
    const ofTokens = await writeFiles(connection, root, set.histories.length);
    const ways = [wayOf(ofTokens, connection, path.join(home, 'received.parquet'))];
    return {
      name: 'nginx, Parquet files',
      version: `${nginx.version}, written by DuckDB ${version}`,
      url: nginx.url,
      headers: {},
      ways,
      cpuMs: () => treeCpuMs(nginx.pid),
      stop() {
        close();
        return nginx.stop();
      },
    };
  } catch (error) {
    await nginx.stop();
    throw error;
  }
}

async function writeFiles(
  connection: DuckDBConnection,
  root: string,
  tokens: number,
): Promise<ParquetFile[]> {
  const written: ParquetFile[] = [];
  for (let token = 0; token < tokens; token++) {
    const file = path.join(root, `${token}.parquet`);
    await connection.run(
      `COPY (SELECT t, price_usd, market, bin, support_usd, resistance_usd FROM cells JOIN snapshots USING (token, t)
        WHERE token = ${token} ORDER BY t, market, bin)
        TO '${file}' (FORMAT parquet, COMPRESSION ${COMPRESSION}, ROW_GROUP_SIZE ${ROW_GROUP_ROWS})`,
    );
    written.push({ file, rowGroups: await rowGroupsOf(connection, file) });
  }
  return written;
}

async function rowGroupsOf(connection: DuckDBConnection, file: string): Promise<RowGroup[]> {
  const start = 'coalesce(nullif(dictionary_page_offset, 0), data_page_offset)';
  const rows = await rowsOf(
    connection,
    `SELECT min(${start})::DOUBLE, max(${start} + total_compressed_size)::DOUBLE,
      any_value(stats_min_value::DOUBLE) FILTER (path_in_schema = 't'), any_value(stats_max_value::DOUBLE) FILTER (path_in_schema = 't')
      FROM parquet_metadata('${file}') GROUP BY row_group_id ORDER BY row_group_id`,
  );
  return (rows as number[][]).map(([from, to, firstT, lastT]) => ({ from, to, firstT, lastT }));
}

/** @param received the file in which a reply is assembled for DuckDB to decode */
function wayOf(
  ofTokens: readonly ParquetFile[],
  connection: DuckDBConnection,
  received: string,
): PeerWay {
  const bytesOf = (window: PageWindow) => bytesOfWindow(ofTokens[window.token], window);
  return {
    name: 'row groups',
    state: 'file',
    coding: `Parquet, ${COMPRESSION}`,
    contentCoding: 'identity',
    isRange: true,
    pathOf: ({ token }) => `/${token}.parquet`,
    headersOf(window) {
      const { from, to } = bytesOf(window);
      return { range: `bytes=${from}-${to - 1}` };
    },
    async snapshotsOf(body, { window }) {
      await putTogether(received, ofTokens[window.token].file, bytesOf(window).from, body);
      return readSnapshots(connection, received, window);
    },
  };
}

/** The bytes of the row groups that overlap the window; they are adjacent. */
function bytesOfWindow({ rowGroups }: ParquetFile, { from, to }: PageWindow) {
  const touched = rowGroups.filter(({ firstT, lastT }) => firstT < to && lastT >= from);
  return { from: touched[0].from, to: touched[touched.length - 1].to };
}

/** Makes a file with the received bytes in place, the original's end with its footer, and zeros elsewhere. */
async function putTogether(received: string, original: string, from: number, body: Uint8Array) {
  const bytes = await readFile(original);
  const tail = bytes.length - FOOTER_TAIL_BYTES;
  const footerFrom = tail - bytes.readUInt32LE(tail);
  bytes.fill(0, MAGIC_BYTES, footerFrom);
  bytes.set(body, from);
  await writeFile(received, bytes);
}

/** A Parquet file begins with its magic, and ends with its footer's length and the magic. */
const MAGIC_BYTES = 4;
const FOOTER_TAIL_BYTES = 8;

/** What DuckDB decodes for the window; it skips row groups outside it. */
async function readSnapshots(
  connection: DuckDBConnection,
  file: string,
  { from, to }: PageWindow,
): Promise<PlainSnapshot[]> {
  const lists = ['market', 'bin', 'support_usd', 'resistance_usd'].map((name) => `list(${name})`);
  const rows = await rowsOf(
    connection,
    `SELECT t, any_value(price_usd), to_json([${lists.map((list) => `${list}::DOUBLE[]`).join(', ')}])::VARCHAR
     FROM read_parquet('${file}') WHERE t >= ${from} AND t < ${to} GROUP BY t ORDER BY t`,
  );
  return rows.map(([t, price, arrays]) => {
    const parsed = JSON.parse(arrays as string) as number[][];
    const [market_idx, bin, support_usd, resistance_usd] = parsed;
    const head = { t: t as number, price_usd: price as number };
    return { ...head, market_idx, bin, support_usd, resistance_usd };
  });
}
