/** `fathom check` names what is damaged, and changes nothing. */
import {
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { ComputePool } from '../../compute/pool.js';
import type { CheckCursor, CheckStep } from '../../storage/operations.js';
import { checkStore } from '../../storage/check/check.js';
import type { SqlRow } from '../../storage/duckdb/statements.js';
import type { Ended } from '../support/processes.js';
import { digestOf, fathom, newKey, serveHere, withStoreOf } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { commitFlat, limitRow } from '../support/flat.js';
import { commitHolders } from '../support/holders.js';
import { commitRows, MINT, orca, OTHER_MINT, snapshot, tamper } from '../support/stores.js';
import type { Json } from '../support/tables.js';

const T = 1_794_000_000;
const TOKEN = `mainchain:${MINT}`;
/** DuckDB's file: three headers, then blocks. */
const HEADER_BYTES = 3 * 4096;
const BLOCK_BYTES = 2 ** 18;
const root = temporaryDirectory();
const whole = path.join(root, 'whole');
const data = path.join(root, 'data');
const file = path.join(data, 'fathom.duckdb');
let intact = '';

const check = (...words: string[]): Promise<Ended> => fathom(['check', '--data', data, ...words]);

beforeAll(async () => {
  await newKey(whole);
  await withStoreOf(whole, async (store) => {
    // Wide enough for a block in several parts.
    const cells = (t: number) =>
      Array.from({ length: 200 }, (_, i): [number, number, number] => [
        i,
        1 + Math.sin(t * 999 + i) ** 2 * 1e6,
        7,
      ]);
    await commitRows(
      store,
      Array.from({ length: 30 }, (_, i) => snapshot(T + i * 60, [orca(cells(i))])),
    );
    await commitRows(store, [snapshot(T, [orca()], { tier: '1h' })]);
    await commitFlat(store, 'limit_orders', [limitRow({ order_address: 'o1' })]);
    await commitHolders(store, [[MINT, new Map([[T, new Map([[MINT, 5]])]])]]);
  });
});
beforeEach(() => {
  rmSync(data, { recursive: true, force: true });
  cpSync(whole, data, { recursive: true });
  intact = digestOf(data);
});

describe('fathom check', () => {
  it('says in one line that all is well, without a server and with one', async () => {
    const ended = await check();
    expect(ended).toEqual({
      status: 0,
      stderr: '',
      stdout: `${data} is intact: 2 segments and all rows read\n`,
    });
    expect(digestOf(data)).toBe(intact);
    const server = await serveHere(data);
    const run = vi.spyOn(ComputePool.prototype, 'run');
    expect((await check()).stdout).toBe(ended.stdout);
    // A block with a million owners would block the event loop.
    expect(run.mock.calls.map(([name]) => name)).toContain('outlineOfBlock');
    await server.stop();
  });

  it('counts files of no stored segment, and lists only some of them', async () => {
    const fragments = path.join(data, 'fragments');
    mkdirSync(fragments, { recursive: true });
    const added = Array.from({ length: 1001 }, (_, i) => `7${1000 + i}-all-1.gzip`);
    for (const name of added) writeFileSync(path.join(fragments, name), 'x');
    const listed = added.map((name) => `fragments/${name}`);
    expect((await check()).stdout).toBe(
      `${data} is intact: 2 segments and all rows read; 1,001 files of no stored segment: ${listed.slice(0, 3).join(', ')} and 998 more\n`,
    );
    expect(JSON.parse((await check('--json')).stdout)).toMatchObject({
      ok: true,
      stray_count: 1001,
      strays: listed.slice(0, 1000),
    });
  });

  const damagesOf = async (): Promise<Json[]> => {
    const before = digestOf(data);
    const ended = await check('--json');
    expect(ended.status).toBe(1);
    expect(digestOf(data)).toBe(before);
    const { ok, damaged } = JSON.parse(ended.stdout) as Json;
    expect(ok).toBe(false);
    expect(ended.stderr).toContain(`snapshots: ${TOKEN}: 20`);
    return damaged as Json[];
  };

  it.each([
    [
      "UPDATE segment_parts SET data = unhex('00' || substr(hex(data), 3)) WHERE part = 3",
      'UPDATE segments SET cells = cells + 1 WHERE tier = 2',
      /\(raw\): its checksum does not match$/,
      /\(1h\): it has 1 cells, its entry 2$/,
    ],
    [
      'DELETE FROM segment_parts WHERE part = 2',
      "UPDATE segments SET times = unhex('FF' || substr(hex(times), 3)) WHERE tier = 2",
      /\(raw\): its checksum does not match$/,
      /\(1h\): its times are not those/,
    ],
    [
      'DELETE FROM markets',
      'UPDATE segments SET tier = 1 WHERE tier = 2',
      /\(raw\): it names an unknown market$/,
      /\(15m\): it is one of .* \(1h\)$/,
    ],
  ])('names token and time of damaged segments: %s', async (first, second, ...messages) => {
    await tamper(file, first, second);
    const damages = await damagesOf();
    for (const text of messages) {
      const found = damages.find(({ what }) => text.test(what as string));
      expect(found).toMatchObject({ dataset: 'snapshots', token: TOKEN });
      expect(found?.from).toBeGreaterThanOrEqual(T);
      expect(found?.to).toBeGreaterThanOrEqual(found?.from as number);
    }
  });

  it.each([
    [
      [
        'INSERT INTO segments SELECT 99, * EXCLUDE (segment_id) FROM segments',
        "INSERT INTO meta VALUES ('listed_segments', '1')",
        'INSERT INTO limit_orders SELECT * FROM limit_orders',
        "UPDATE limit_orders SET token_address = 'nobody'",
        'DELETE FROM holder_block_parts',
        "UPDATE keys SET digest = ''::BLOB",
      ],
      [
        /: it overlaps with segment/,
        /: it is in no list$/,
        /^2 rows of o1$/,
        /^the row's address is not that of a token$/,
        /^block \d+: its bytes are missing$/,
        /^key key_\w+ has no digest$/,
      ],
    ],
    [
      ['DELETE FROM segments WHERE tier = 0', 'DELETE FROM holder_owners', 'DELETE FROM markets'],
      [
        /^a part of segment_id \d+, which does not exist$/,
        /^block \d+: it names an unknown owner$/,
        /it names an unknown market/,
      ],
    ],
  ])('names dangling references and duplicates: %j', async (statements, messages) => {
    await tamper(file, ...statements);
    const texts = (await damagesOf()).map(({ what }) => what as string);
    for (const text of messages) expect(texts).toContainEqual(expect.stringMatching(text));
  });

  it('names segments of no token', async () => {
    await tamper(file, 'DELETE FROM tokens');
    expect((await check()).stderr).toMatch(
      /^snapshots: a segment of token_id 0, which does not exist$/m,
    );
  });

  it('names a missing pepper, and a database that cannot be opened', async () => {
    rmSync(path.join(data, 'pepper'));
    expect((await check()).stderr).toMatch(/^keys: pepper is missing$/m);
    const handle = openSync(file, 'r+');
    writeSync(handle, Buffer.alloc(3 * 4096, 7), 0, 3 * 4096, 0);
    closeSync(handle);
    const ended = await check();
    expect(ended.stderr).toMatch(/^database: .*fathom.duckdb cannot be opened: /);
    expect(ended.status).toBe(1);
  });

  it('finds a flipped bit in a block of the file', async () => {
    // DuckDB keeps a checksum per block of 256 KiB; segment entries are in one that begins with their ids.
    const { bytes, at } = await withStoreOf(data, (store) => {
      const { database } = store['parts'];
      return database
        .rows(`SELECT min(block_id) FROM pragma_storage_info('segment_parts') WHERE block_id >= 0`)
        .then(([[block]]) => ({
          bytes: readFileSync(file),
          at: HEADER_BYTES + (block as number) * BLOCK_BYTES + 5000,
        }));
    });
    bytes[at] ^= 1;
    writeFileSync(file, bytes);
    const ended = await check();
    expect(ended.stderr).toMatch(/^snapshots: table segment_parts cannot be read: .*checksum/m);
    expect(ended.stderr.match(/^.*checksum/gm)).toHaveLength(1);
    expect(ended.status).toBe(1);
  });
});

it('A check of a file with one damaged block names the database or a dataset, whichever block it is', async () => {
  const bytes = readFileSync(file);
  const blocks = Math.floor((bytes.length - HEADER_BYTES) / BLOCK_BYTES);
  expect(blocks).toBeGreaterThan(2);
  let damaged = 0;
  for (let block = 0; block < blocks; block++) {
    const harmed = Buffer.from(bytes);
    harmed[HEADER_BYTES + block * BLOCK_BYTES + 100] ^= 1;
    writeFileSync(file, harmed);
    const { damages } = await checkStore(data);
    if (damages.length > 0) damaged++;
    for (const { what } of damages) expect(what).toMatch(/checksum|cannot be (read|opened)/);
  }
  // The block may be free.
  expect(damaged).toBeGreaterThan(2);
});

describe('A check of a large token’s holders', () => {
  it('reads the owners’ names once, in pieces, for all blocks, and names their damage once', async () => {
    // More than one piece holds: chunks take 64 KiB.
    const names = Array.from({ length: 20_000 }, (_, i) => `wallet${i}`.padEnd(64, 'x'));
    const snapshots = new Map(
      [0, 3600, 7200, 10_800].map((s) => [
        T + s,
        new Map(names.map((name, i) => [name, i + s + 1])),
      ]),
    );
    await withStoreOf(data, async (store) => {
      await commitHolders(store, [[OTHER_MINT, snapshots]]);
      const { database } = store['parts'];
      const ofToken = `holder_id = (SELECT holder_id FROM holder_tokens WHERE token_address = '${OTHER_MINT}')`;
      const [[blocks]] = await database.rows(`SELECT count(*) FROM holder_blocks WHERE ${ofToken}`);
      expect(blocks).toBeGreaterThan(1);
      const checked = async (): Promise<unknown[]> => {
        const found: unknown[] = [];
        for (let cursor: CheckCursor | null = null; ;) {
          const step: CheckStep = await store.checkStep(cursor);
          found.push(...step.damages.filter(({ dataset }) => dataset === 'holders'));
          if (step.next === null) return found;
          cursor = step.next;
        }
      };
      const rows = vi.spyOn(database, 'rows');
      const values = vi.spyOn(database, 'values');
      expect(await checked()).toEqual([]);
      const read = rows.mock.settledResults.map(
        ({ value }) => (value as SqlRow[]).filter((row) => row[2] instanceof Uint8Array).length,
      );
      expect(Math.max(...read)).toBeLessThanOrEqual(16);
      for (const { value } of values.mock.settledResults) {
        const chunks = [...(value as Map<number, unknown>).keys()].filter((key) => key < 0);
        expect(chunks.length).toBeLessThanOrEqual(1);
      }
      await database.run(
        `UPDATE holder_owners SET data = unhex('00' || substr(hex(data), 3)) WHERE ${ofToken} AND first_owner = 0`,
      );
      const damages = (what: string) => [
        { dataset: 'holders', token: `mainchain:${OTHER_MINT}`, from: null, to: null, what },
      ];
      expect(await checked()).toEqual(
        damages('the names of holders are damaged: a checksum does not match'),
      );
      await database.run(`DELETE FROM holder_owners WHERE ${ofToken} AND first_owner = 0`);
      expect(await checked()).toEqual(
        damages('the names of holders are damaged: a chunk is missing'),
      );
    });
  });
});
