/** The files of the dataset `holders`: a mint's stored holder snapshots of a day, a row for each owner. */
import { createHash } from 'node:crypto';
import { holderSnapshots, ownersOfBlock } from '../../compute/holders/block-decoder.js';
import { noNames, type OwnerNames, ownerName } from '../../compute/holders/owners.js';
import { DAY_S } from '../../compute/time.js';
import { SegmentGoneError } from '../contract.js';
import type { GivenBatch, GivenColumn } from '../duckdb/given-columns.js';
import { literal, type ParquetSource, type ParquetWriter } from '../parquet-file.js';
import { BatchTable, number } from './batch-table.js';
import { reachOfDay } from './depth-plan.js';
import type { ExportJob, Window } from './job.js';
import { dayOf, HOLDERS, holderFile, holdersOfFile } from './layout.js';
import { digestsOfFirst } from './owner-digests.js';
import type { ExportHolderBlock } from './source.js';
import { StagedBlocks } from './staged-blocks.js';

/** Attempts to read a mint's holders, which a commit may replace meanwhile. */
const MAX_READS = 10;

/** What is known of a mint's holder snapshots. */
export interface SeenHolders {
  stamp: string;
  /** Of the last one. */
  lastT: number;
}

/** What a day's file has. */
interface HolderDay {
  dayS: number;
  window: Window;
  /** Of its snapshots, ascending. */
  times: readonly number[];
  /** The blocks that have them, ascending in time. */
  blocks: readonly ExportHolderBlock[];
}

/**
 * Brings the files of holders up to date.
 * @param seen of an earlier run, by mint, and its time
 * @returns of this one
 */
export async function exportHolders(
  job: ExportJob,
  writer: ParquetWriter,
  seen: { readonly holders: ReadonlyMap<string, SeenHolders>; readonly nowS: number },
): Promise<Map<string, SeenHolders>> {
  const learned = new Map<string, SeenHolders>();
  const { datasets, tokens } = job.request;
  if (!datasets.includes(HOLDERS)) return learned;
  const mints = tokens?.filter(({ chain }) => chain === 'mainchain');
  const wanted = mints && new Set(mints.map(({ address }) => address));
  const listed = listedFiles(job);
  const gone = new Set(listed.keys());
  for (let after = ''; ;) {
    const found = await job.store.exportHolderTokens(after);
    for (const { address, stamp } of found) {
      gone.delete(address);
      const known = seen.holders.get(address);
      // Snapshots of the future are exported later.
      const isSeen = known?.stamp === stamp && known.lastT <= seen.nowS;
      if (wanted?.has(address) === false || isSeen) continue;
      const lastT = await exportMint(job, writer, address, listed.get(address) ?? []);
      learned.set(address, { stamp, lastT });
    }
    const last = found.at(-1);
    if (last === undefined) break;
    after = last.address;
  }
  for (const address of gone) {
    if (wanted?.has(address) === false) continue;
    for (const file of listed.get(address) ?? []) job.dropped.add(file);
  }
  return learned;
}

/** The listed files in the request's window, by mint. */
function listedFiles({ request: { folder, fromS, toS } }: ExportJob): Map<string, string[]> {
  const listed = new Map<string, string[]>();
  for (const file of Object.keys(folder.files)) {
    const named = holdersOfFile(file);
    if (named === null || named.dayS + DAY_S <= fromS || named.dayS >= toS) continue;
    const own = listed.get(named.address) ?? [];
    own.push(file);
    listed.set(named.address, own);
  }
  return listed;
}

/** @returns the time of the mint's last snapshot */
async function exportMint(
  job: ExportJob,
  writer: ParquetWriter,
  address: string,
  listed: readonly string[],
): Promise<number> {
  for (let reads = 1; ; reads++) {
    const blocks = await job.store.exportHolderBlocks(address);
    try {
      const days = daysOf(job, blocks, listed);
      // Read before the blocks: those that are still there afterwards name none of a later numbering.
      const names = days.length === 0 ? noNames() : await namesOf(job, address);
      const digestOf = dayDigests(job, address, days, names);
      for (const day of days) {
        const file = holderFile(address, day.dayS);
        if (await job.isAsListed(file, digestOf(day, namedIn(job, file)))) continue;
        await job.put(file, digestOf(day, null), day.window, (to) =>
          writeDay(job, address, day, names, writer, to),
        );
      }
      const kept = new Set(days.map(({ dayS }) => holderFile(address, dayS)));
      for (const file of listed) if (!kept.has(file)) job.dropped.add(file);
      return blocks.at(-1)?.times.at(-1) ?? 0;
    } catch (error) {
      const now = await job.store.exportHolderBlocks(address);
      if (isSame(blocks, now) || reads === MAX_READS) throw error;
    }
  }
}

const isSame = (a: readonly ExportHolderBlock[], b: readonly ExportHolderBlock[]): boolean =>
  a.length === b.length && a.every(({ blockId }, i) => blockId === b[i].blockId);

function daysOf(
  job: ExportJob,
  blocks: readonly ExportHolderBlock[],
  listed: readonly string[],
): HolderDay[] {
  const { request } = job;
  const all = blocks.flatMap(({ times }) => [...times]).filter((t) => t <= request.nowS);
  const days = [...new Set(all.map(dayOf))];
  return days.flatMap((dayS) => {
    if (dayS + DAY_S <= request.fromS || dayS >= request.toS) return [];
    const files = listed.filter((file) => holdersOfFile(file)?.dayS === dayS);
    const window = job.windowOf(reachOfDay(dayS, request.view.step_s), files);
    const within = all.filter((t) => t >= window.fromS && t < window.toS);
    const times = newestOfSteps(within, request.view.step_s).filter((t) => dayOf(t) === dayS);
    if (times.length === 0) return [];
    const own = new Set(times);
    const having = blocks.filter((block) => block.times.some((t) => own.has(t)));
    return [{ dayS, window, times, blocks: having }];
  });
}

/** The last time of each step (docs/definitions.md#steps). @param times ascending */
function newestOfSteps(times: readonly number[], stepS: number | null): readonly number[] {
  if (stepS === null) return times;
  const stepOf = (t: number): number => Math.ceil(t / stepS);
  return times.filter((t, i) => i + 1 === times.length || stepOf(times[i + 1]) !== stepOf(t));
}

/**
 * Digests of days: of the times, of the blocks, which have the owners' numbers, and of the names that the mint had when
 * the file was written. The digest ends with how many these were: owners that came since change no older file.
 * @returns a digest, given how many names its file was written with; null: with all that there are
 */
function dayDigests(
  job: ExportJob,
  address: string,
  days: readonly HolderDay[],
  names: OwnerNames,
): (day: HolderDay, named: number | null) => string {
  const all = names.offsets.length - 1;
  const listed = days.map(({ dayS }) => namedIn(job, holderFile(address, dayS)) ?? all);
  const ofNames = digestsOfFirst(names, [...listed, all]);
  return ({ times, blocks }, named) => {
    // With more names than there are, the file is of another numbering.
    const count = named !== null && ofNames.has(named) ? named : all;
    const hash = createHash('sha256').update(HOLDERS).update(Uint32Array.from(times));
    for (const { checksum } of blocks) hash.update(checksum);
    hash.update(ofNames.get(count) ?? '');
    return `${hash.digest('hex').slice(0, 32)}-${count}`;
  };
}

/** How many names a listed file was written with; null if it is not listed, or does not say. */
function namedIn({ request: { folder } }: ExportJob, file: string): number | null {
  const count = /-(\d+)$/.exec(folder.files[file]?.digest ?? '')?.[1];
  return count === undefined ? null : Number(count);
}

async function namesOf(job: ExportJob, address: string): Promise<OwnerNames> {
  const parts: OwnerNames[] = [];
  let count = 0;
  for (;;) {
    const part = await job.store.exportHolderNames(address, count);
    if (part.offsets.length === 1) break;
    parts.push(part);
    count += part.offsets.length - 1;
  }
  const offsets = new Uint32Array(count + 1);
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.bytes.length, 0));
  let [owner, at] = [0, 0];
  for (const part of parts) {
    bytes.set(part.bytes, at);
    for (const end of part.offsets.subarray(1)) offsets[++owner] = at + end;
    at += part.bytes.length;
  }
  return { offsets, bytes };
}

/** @returns the rows of the file */
async function writeDay(
  job: ExportJob,
  address: string,
  day: HolderDay,
  names: OwnerNames,
  writer: ParquetWriter,
  to: string,
): Promise<number> {
  const ids = day.blocks.map(({ blockId }) => blockId);
  const read = async ([id]: readonly number[]): Promise<Uint8Array[] | null> => {
    const block = await job.store.exportHolderBlock(id);
    return block && [block];
  };
  const blocks = await StagedBlocks.read(ids, 1, read, `${to}.blocks`);
  try {
    const owners = new Set<number>();
    for (const id of ids) for (const owner of ownersOfBlock(blocks.block(id))) owners.add(owner);
    const sorted = Uint32Array.from(owners).sort();
    const isNamed = (sorted.at(-1) ?? -1) < names.offsets.length - 1;
    if (!isNamed) throw new SegmentGoneError('owners were numbered anew');
    const texts = Array.from(sorted, (owner) => ownerName(names, owner));
    const columns: GivenColumn[] = [
      number('t', 'BIGINT'),
      { name: 'owner', type: { texts }, nullable: false },
      number('balance', 'DOUBLE'),
      number('timestamp', 'TIMESTAMP_MS'),
    ];
    const table = new BatchTable(columns, batches(day, ids, blocks, sorted));
    await writer.write(sourceOf(address, table), to);
    return table.rowCount;
  } finally {
    blocks.close();
  }
}

/** A batch for each snapshot. */
function* batches(
  { times }: HolderDay,
  ids: readonly number[],
  blocks: StagedBlocks,
  owners: Uint32Array,
): Generator<GivenBatch, void> {
  for (const id of ids) {
    for (const { t, owner, balance } of holderSnapshots(blocks.block(id), times)) {
      const code = new Int32Array(owner.length);
      // Both are ascending.
      for (let i = 0, at = 0; i < owner.length; i++) {
        while (owners[at] !== owner[i]) at++;
        code[i] = at;
      }
      const time = new BigInt64Array(owner.length).fill(BigInt(t));
      const timestamp = new BigInt64Array(owner.length).fill(BigInt(t) * 1000n);
      yield { rowCount: owner.length, columns: [time, code, balance, timestamp] };
    }
  }
}

function sourceOf(address: string, table: BatchTable): ParquetSource {
  const given = table.columns.map(({ name, type }) => {
    return { name, type: typeof type === 'string' ? type : ('VARCHAR' as const), sql: name };
  });
  const token = { name: 'token_address', type: 'VARCHAR', sql: literal(address) } as const;
  return { columns: [token, ...given], from: 'given_columns()', table };
}
