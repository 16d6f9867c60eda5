/**
 * Reads a whole store in bounded steps and compares it with its checksums and with everything that refers to it. It
 * changes nothing. Each statement sees the state after one commit. Data that a commit replaces between two statements
 * is skipped.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { type BlockOutline, outlineOfBlock } from '../../compute/holders/block-decoder.js';
import { type Chain, TIERS } from '../../compute/market.js';
import type { StoredBlock } from '../../compute/segment/segment.js';
import { isAscending, sampleFault, segmentFault } from '../../compute/segment/verify.js';
import { Archive } from '../archive/archive.js';
import { ArchiveUnavailableError, ObjectFaultError } from '../archive/objects.js';
import { STAGING } from '../bundle.js';
import type { CheckCursor, CheckStep, Damage } from '../operations.js';
import { PEPPER_FILE } from '../data-directory.js';
import { ENTRY_COLUMNS, LIST_COLUMNS, refOfColumns, unpackRefs } from '../depth/segment-lists.js';
import { firstT, lastT, type SegmentRef } from '../depth/directory.js';
import { readSamples } from '../depth/samples.js';
import { readStoredBlocks } from '../depth/segments.js';
import type { Database } from '../duckdb/database.js';
import { byFirstColumn, type SqlRow } from '../duckdb/statements.js';
import { readBlockAndOwners, readRefs } from '../holders/holder-blocks.js';
import { checkNames } from '../holders/owner-names.js';
import { InputError } from '../errors.js';
import { Turns } from '../turns.js';
import { pepperFault } from '../keys/pepper.js';
import { logFaults } from '../log/file-log.js';
import { markOf } from '../log/mark.js';
import { readMeta } from '../meta.js';
import { checkSchema } from '../schema.js';
import { checkFragments } from './fragments.js';
import { RULES, SCANNED, UNIQUE } from './rules.js';

/** Rows, or segments, that one step reads. */
const ROWS_PER_STEP = 65_536;
const SEGMENTS_PER_STEP = 128;
const ENTRIES_PER_STEP = 16_384;
/** Keys in one search for duplicates. */
const KEYS_PER_STEP = 500_000;
/** Damages that one step reports. */
const MAX_DAMAGES_PER_STEP = 1000;

/** What one part of the check found; `next` is where it continues, or null if it is complete. */
interface Found {
  damages: Damage[];
  next: number | null;
  segments?: number;
  strays?: string[];
}
type Part = (after: number) => Promise<Found>;
/** Runs compute's outlineOfBlock, in a worker thread if it would block the event loop. */
export type OutlineBlock = (block: Uint8Array) => Promise<BlockOutline>;

const NO_ARCHIVE = new Archive();

const damage = (dataset: string, what: string, token: string | null = null): Damage => ({
  dataset,
  token,
  from: null,
  to: null,
  what,
});
const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : 'unknown').split('\n')[0];

export class Checker {
  private readonly parts: readonly Part[];

  constructor(
    private readonly database: Pick<Database, 'rows' | 'values'>,
    private readonly directory: string,
    /** Its objects are read too; null: only the entries of archived segments are checked. */
    private readonly archive: Archive | null,
    private readonly outline: OutlineBlock = (block) => Promise.resolve(outlineOfBlock(block)),
  ) {
    this.parts = [
      () => this.files(),
      () => this.log(),
      ...Object.entries(SCANNED).map((names) => this.scan.bind(this, ...names)),
      ...RULES.map(({ dataset, sql }) => this.rule.bind(this, dataset, sql)),
      ...UNIQUE.map(({ table, keys }) => this.duplicates.bind(this, table, keys)),
      (after) => this.segments(after),
      (after) => this.directories(after),
      (after) => this.holders(after),
      (after) => this.fragments(after),
    ];
  }

  /** Takes the next step, or the first one if `cursor` is null. */
  async step(cursor: CheckCursor | null): Promise<CheckStep> {
    if (this.archive?.objects === null) {
      throw new InputError('--archive: the store has no archive');
    }
    const { part, after } = cursor ?? { part: 0, after: -1 };
    const found = this.parts[part](after).catch((error: unknown): Found => {
      if (error instanceof InputError || error instanceof ArchiveUnavailableError) throw error;
      return { damages: [damage('database', reasonOf(error))], next: null };
    });
    const { damages, next, segments = 0, strays = [] } = await found;
    const isLast = next === null && part + 1 === this.parts.length;
    return {
      damages: damages.slice(0, MAX_DAMAGES_PER_STEP),
      segments,
      strays,
      done: (part + 1) / this.parts.length,
      next: isLast ? null : next === null ? { part: part + 1, after: -1 } : { part, after: next },
    };
  }

  private async files(): Promise<Found> {
    await checkSchema(this.database, this.directory);
    const damages: Damage[] = [];
    const [[keys]] = await this.database.rows('SELECT count(*) FROM keys');
    const pepper = await readFile(path.join(this.directory, PEPPER_FILE)).catch(() => null);
    const fault = pepperFault(pepper, await readMeta(this.database));
    if (keys !== 0 && fault !== null) damages.push(damage('keys', `${PEPPER_FILE} is ${fault}`));
    return { damages, next: null };
  }

  /** Reads the entries of the store's own log. */
  private async log(): Promise<Found> {
    const mark = async () => markOf(await readMeta(this.database));
    if ((await mark())?.isOwn === false) return { damages: [], next: null };
    const faults = await logFaults(this.directory, mark);
    return { damages: faults.map((what) => damage('log', what)), next: null };
  }

  /** Reads rows of a table with all their columns: DuckDB checks the blocks that it reads. */
  private async scan(table: string, dataset: string, after: number): Promise<Found> {
    const to = after + ROWS_PER_STEP;
    const damages: Damage[] = [];
    const [[last]] = await this.database.rows(`SELECT max(rowid) FROM ${table}`);
    try {
      await this.database.rows(
        `SELECT bit_xor(hash(t)) FROM ${table} t WHERE rowid > ${after} AND rowid <= ${to}`,
      );
    } catch (error) {
      damages.push(damage(dataset, `table ${table} cannot be read: ${reasonOf(error)}`));
    }
    return { damages, next: last === null || (last as number) <= to ? null : to };
  }

  private async rule(dataset: string, sql: string): Promise<Found> {
    const rows = await this.database.rows(`${sql} LIMIT ${MAX_DAMAGES_PER_STEP}`);
    const damages = rows.map(([token, what]) =>
      damage(dataset, String(what), token as string | null),
    );
    return { damages, next: null };
  }

  private async duplicates(table: string, keys: readonly string[], after: number): Promise<Found> {
    const [[rows]] = await this.database.rows(`SELECT count(*) FROM ${table}`);
    const shares = Math.max(1, Math.ceil((rows as number) / KEYS_PER_STEP));
    const share = after + 1;
    const list = keys.join(', ');
    const found = await this.database.rows(
      `SELECT concat_ws(' ', ${list}), count(*) FROM ${table} WHERE hash(${list}) % ${shares} = ${share}
       GROUP BY ${list} HAVING count(*) > 1 LIMIT ${MAX_DAMAGES_PER_STEP}`,
    );
    const dataset = SCANNED[table] ?? table;
    const damages = found.map(([key, n]) => damage(dataset, `${String(n)} rows of ${String(key)}`));
    return { damages, next: share + 1 < shares ? share : null };
  }

  /** Checksums and content of segments. */
  private async segments(after: number): Promise<Found> {
    const rows = await this.database.rows(
      `SELECT s.segment_id, s.tier, s.cells, s.times, s.band_cells, s.digests,
         s.object_id IS NOT NULL, t.chain, t.address, coalesce(m.n, 0)
       FROM segments s JOIN tokens t USING (token_id)
       LEFT JOIN (SELECT token_id, count(*) AS n FROM markets GROUP BY token_id) m USING (token_id)
       WHERE s.segment_id > ${after} ORDER BY s.segment_id LIMIT ${SEGMENTS_PER_STEP}`,
    );
    const ids = rows.map(([id]) => id as number);
    const { archive } = this;
    const readable = archive === null ? rows.filter((row) => row[6] === false) : rows;
    const read = readable.map(([id]) => id as number);
    const damages: Damage[] = [];
    const lost = new Map<number, string>();
    const blocks = await this.blocksOf(read, lost);
    const samples = await readSamples(this.database, ids);
    const turns = new Turns();
    for (const row of rows) {
      await turns.take();
      const ref = refOfColumns(row);
      const [chain, address, markets] = row.slice(7) as [Chain, string, number];
      const reason = lost.get(ref.segmentId);
      if (reason !== undefined) {
        damages.push({ ...ofSegment(`${chain}:${address}`, ref, reason), dataset: 'archive' });
      }
      const stored = blocks.get(ref.segmentId);
      if (stored === undefined) continue;
      const entry = { ...ref, chain, address, markets };
      const sample = samples.get(ref.segmentId);
      const what =
        segmentFault(stored, entry) ?? (sample === undefined ? null : sampleFault(sample, entry));
      if (what !== null) damages.push(ofSegment(`${chain}:${address}`, ref, what));
    }
    return {
      damages,
      next: rows.length < SEGMENTS_PER_STEP ? null : (ids.at(-1) ?? null),
      segments: read.length,
    };
  }

  /** Blocks of segments. @param lost gets those whose objects are gone or damaged, and the reason */
  private async blocksOf(
    ids: readonly number[],
    lost: Map<number, string>,
  ): Promise<ReadonlyMap<number, StoredBlock>> {
    const { fromObjects } = this.archive ?? NO_ARCHIVE;
    try {
      return await readStoredBlocks(this.database, ids, fromObjects);
    } catch (error) {
      if (!(error instanceof ObjectFaultError)) throw error;
      if (ids.length > 1) {
        const blocks = new Map<number, StoredBlock>();
        for (const id of ids) {
          for (const [own, block] of await this.blocksOf([id], lost)) blocks.set(own, block);
        }
        return blocks;
      }
      lost.set(ids[0], error.message);
      return new Map();
    }
  }

  /** The order of each token's segments, and the lists that repeat their entries. */
  private async directories(after: number): Promise<Found> {
    const counts = (await this.database.rows(
      `SELECT token_id, count(*) FROM segments WHERE token_id > ${after} GROUP BY token_id ORDER BY token_id`,
    )) as [number, number][];
    let last = after;
    for (
      let entries = 0, i = 0;
      i < counts.length && (i === 0 || entries < ENTRIES_PER_STEP);
      i++
    ) {
      [last] = counts[i];
      entries += counts[i][1];
    }
    if (last === after) return { damages: [], next: null };
    const range = `token_id > ${after} AND token_id <= ${last}`;
    // One statement: no commit may fall between two reads.
    const rows = await this.database.rows(
      `WITH listed AS (SELECT coalesce(max(value::BIGINT), 0) AS id FROM meta WHERE key = 'listed_segments')
       SELECT token_id, ${ENTRY_COLUMNS}, segment_id <= listed.id
       FROM segments, listed WHERE ${range}
       UNION ALL
       SELECT token_id, ${LIST_COLUMNS}, NULL FROM segment_lists WHERE ${range}`,
    );
    const names = new Map(
      (await this.database.rows(
        `SELECT token_id, chain || ':' || address FROM tokens WHERE ${range}`,
      )) as [number, string][],
    );
    const damages: Damage[] = [];
    const turns = new Turns();
    for (const [tokenId, own] of byFirstColumn(rows)) {
      await turns.take();
      const name = names.get(tokenId) ?? `token id ${tokenId}`;
      damages.push(...directoryDamages(name, own));
    }
    return { damages, next: last };
  }

  private async fragments(after: number): Promise<Found> {
    const { faults, strays, next } = await checkFragments(
      this.database,
      this.directory,
      Math.max(0, after),
    );
    return { damages: faults.map((what) => damage('fragments', what)), strays, next };
  }

  /** Holder blocks of a token and the names of its owners. */
  private async holders(after: number): Promise<Found> {
    const [found] = await this.database.rows(
      `SELECT holder_id, token_address FROM holder_tokens WHERE holder_id > ${after} ORDER BY holder_id LIMIT 1`,
    );
    if (found === undefined) return { damages: [], next: null };
    const [holderId, address] = found as [number, string];
    const token = `mainchain:${address}`;
    const damages: Damage[] = [];
    const turns = new Turns();
    await checkNames(this.database, holderId).catch((error: unknown) => {
      damages.push(damage('holders', reasonOf(error), token));
    });
    const refs = await readRefs(this.database, holderId);
    for (const [i, ref] of refs.entries()) {
      const own = (what: string): Damage => ({
        ...damage('holders', `block ${ref.blockId}: ${what}`, token),
        from: ref.times[0] ?? null,
        to: ref.times.at(-1) ?? null,
      });
      const before = refs[i - 1]?.times.at(-1) ?? -1;
      if (!isAscending(ref.times) || ref.times[0] <= before) damages.push(own('its times overlap'));
      try {
        const { block, owners } = await readBlockAndOwners(this.database, holderId, ref.blockId);
        if (block === undefined) {
          const [[left]] = await this.database.rows(
            `SELECT count(*) FROM holder_blocks WHERE block_id = ${ref.blockId}`,
          );
          if (left !== 0) damages.push(own('its bytes are missing'));
          continue;
        }
        const found = await this.outline(block);
        if (found.times.join() !== ref.times.join())
          damages.push(own('its times are not those of its entry'));
        if (found.lastOwner >= owners) damages.push(own('it names an unknown owner'));
      } catch (error) {
        damages.push(own(reasonOf(error)));
      }
      await turns.take();
    }
    return { damages, next: holderId };
  }
}

/** Counts files left by killed commands, which are not damage. */
export async function stagingLeftovers(directory: string): Promise<number> {
  const names = await readdir(path.join(directory, STAGING)).catch(() => []);
  return names.length;
}

function ofSegment(token: string, ref: SegmentRef, what: string): Damage {
  return {
    ...damage('snapshots', `segment ${ref.segmentId} (${ref.tier}): ${what}`, token),
    from: ref.times[0] ?? null,
    to: ref.times.at(-1) ?? null,
  };
}

/** @param rows of `segments`, then of `segment_lists` */
function directoryDamages(token: string, rows: readonly SqlRow[]): Damage[] {
  const damages: Damage[] = [];
  const listed = new Map<number, SegmentRef>();
  for (const [segmentId, tier, , data] of rows) {
    if (segmentId !== null) continue;
    try {
      for (const ref of unpackRefs(TIERS[tier as number], data as Uint8Array)) {
        if (listed.has(ref.segmentId)) damages.push(ofSegment(token, ref, 'it is listed twice'));
        listed.set(ref.segmentId, ref);
      }
    } catch (error) {
      damages.push(damage('snapshots', reasonOf(error), token));
    }
  }
  const last = new Map<string, SegmentRef>();
  const refs = rows
    .filter(([segmentId]) => segmentId !== null)
    .map((row) => ({ ref: refOfColumns(row), isListed: row[7] === true }))
    .sort((a, b) => firstT(a.ref) - firstT(b.ref));
  for (const { ref, isListed } of refs) {
    const { tier, times } = ref;
    const before = last.get(tier);
    if (times.length === 0 || !isAscending(times)) {
      damages.push(ofSegment(token, ref, 'its times do not ascend'));
      continue;
    }
    if (before !== undefined && firstT(ref) <= lastT(before)) {
      damages.push(ofSegment(token, ref, `it overlaps with segment ${before.segmentId}`));
    }
    last.set(tier, ref);
    const copy = listed.get(ref.segmentId);
    listed.delete(ref.segmentId);
    if (isListed !== (copy !== undefined)) {
      damages.push(ofSegment(token, ref, isListed ? 'it is in no list' : 'it is listed too early'));
    } else if (copy !== undefined && !isSameEntry(copy, ref)) {
      damages.push(ofSegment(token, ref, 'its list has another entry'));
    }
  }
  for (const ref of listed.values())
    damages.push(ofSegment(token, ref, 'it is listed, and missing'));
  return damages;
}

function isSameEntry(a: SegmentRef, b: SegmentRef): boolean {
  const text = ({ tier, cells, times, bandCells, digests, isArchived }: SegmentRef): string =>
    [tier, cells, times.join(), bandCells.join(), digests.join(), isArchived].join(';');
  return text(a) === text(b);
}
