/**
 * Applies a log's entries, as `log-reader.ts` reads them, to the store of a node; several small waiting entries share a
 * transaction.
 */
import { createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { isDamage } from '../../compute/damage.js';
import { bundleFile, framesOf, stagingFolder } from '../bundle.js';
import { DamagedSpanError } from '../damaged-span.js';
import {
  BundleVersionError,
  DamagedDataError,
  MalformedError,
  RefusalError,
  StoreChangedError,
} from '../errors.js';
import type { Store } from '../store.js';
import { digestOf, type Entry, type SharedEntry, UnknownEntryError, unpackEntry } from './entry.js';
import type { JetStreamLog } from './jetstream.js';
import type { LogMessage } from './log-reader.js';
import type { LogMark } from './mark.js';
import type { Publisher } from './publisher.js';

/** Limits of a shared transaction. */
const MAX_ENTRIES_AT_ONCE = 64;
const MAX_ENTRY_BYTES_AT_ONCE = 4 * 1024 * 1024;

const NO_ORIGIN = 'the log does not begin with its origin: create it again';

interface ApplierOptions {
  store: Store;
  log: JetStreamLog;
  name: string;
  publisher: Publisher;
  onApplied?: ((tookMs: number) => void) | undefined;
  /** Called with an entry that no version of Fathom writes: every node skips it. */
  onMalformed?: ((position: number, why: string) => void) | undefined;
}

/** Why the node no longer follows the log. */
export class StoppedError extends Error {
  /** @param isTemporary whether the node should look again: the missing part of the log may come back */
  constructor(
    message: string,
    readonly isTemporary = false,
  ) {
    super(message);
  }
}

export class Applier {
  /** Entries up to this position are applied one by one, because they failed together. */
  private separateUpTo = 0;

  constructor(private readonly options: ApplierOptions) {}

  /**
   * Applies the first of some consecutive entries, or the first few in one transaction.
   * @returns how many it applied
   * @throws StoppedError, or any other error if another attempt may succeed
   */
  async apply(messages: readonly LogMessage[]): Promise<number> {
    const beganMs = performance.now();
    const batch = await this.batchOf(messages);
    const isDone = batch.length > 1 && (await this.applyTogether(messages, batch));
    const count = isDone ? batch.length : 1;
    if (!isDone) await this.applyOne(messages[0]);
    const tookMs = (performance.now() - beganMs) / count;
    for (let i = 0; i < count; i++) this.options.onApplied?.(tookMs);
    return count;
  }

  /** The first entries, up to one that needs a separate transaction. */
  private async batchOf(messages: readonly LogMessage[]): Promise<SharedEntry[]> {
    const shared: SharedEntry[] = [];
    if (this.options.store.mark === null) return shared;
    let bytes = 0;
    for (const [i, { position, id, data }] of messages.slice(0, MAX_ENTRIES_AT_ONCE).entries()) {
      // Parts of a large bundle may lie between: each entry's revisions need its own position.
      const isNext = position === messages[0].position + i;
      if (position <= this.separateUpTo || !isNext) break;
      bytes += data.length;
      if (bytes > MAX_ENTRY_BYTES_AT_ONCE || this.options.publisher.awaits(id)) break;
      const entry = await sharedEntry(data);
      if (entry === null) break;
      shared.push(entry);
    }
    return shared;
  }

  /** @returns false if one of them was refused or failed: then none is applied */
  private async applyTogether(
    messages: readonly LogMessage[],
    entries: readonly SharedEntry[],
  ): Promise<boolean> {
    const mark = await this.markOf(messages[entries.length - 1]);
    try {
      await this.options.store.applied.applyTogether(entries, mark);
      return true;
    } catch {
      // applyOne() runs into the failure again and handles it.
      this.separateUpTo = mark.position;
      return false;
    }
  }

  private async applyOne(message: LogMessage): Promise<void> {
    const { store, publisher } = this.options;
    const { position, id, data } = message;
    const mark = await this.markOf(message);
    try {
      publisher.resolve(id, await this.applied(unpackEntry(data), mark, message));
    } catch (error) {
      if (error instanceof UnknownEntryError) throw new StoppedError(error.message);
      if (error instanceof BundleVersionError) throw new StoppedError(stopOf(error));
      if (error instanceof DamagedDataError || isDamage(error)) {
        throw new StoppedError(
          `entry ${position} meets damaged data of this node, which others can apply: begin with a backup of another node (${error instanceof DamagedSpanError ? error.fault : error.message})`,
        );
      }
      if (!isRefused(error)) throw error;
      if (store.mark === null) throw new StoppedError(NO_ORIGIN);
      await store.applied.pass(mark);
      if (error instanceof MalformedError) this.options.onMalformed?.(position, error.message);
      publisher.reject(id, error);
    }
  }

  private async markOf({ position, id, timeMs }: LogMessage): Promise<LogMark> {
    const { store, log } = this.options;
    const logId = store.mark?.logId ?? (await log.state())?.id ?? '';
    return { logId, position, entryId: id, timeMs, isOwn: false };
  }

  private async applied(entry: Entry, mark: LogMark, message: LogMessage): Promise<unknown> {
    const { store } = this.options;
    if (store.mark === null && entry.kind !== 'origin') {
      throw new StoppedError(NO_ORIGIN);
    }
    const apply = (): Promise<unknown> => store.applied.apply(entry, mark);
    if (entry.kind === 'origin') await this.checkOrigin(entry);
    return entry.kind === 'large-bundle' ? this.withLargeBundle(entry, message, apply) : apply();
  }

  /** @throws StoppedError if the log begins with data that this store lacks, or the store has data that the log lacks */
  private async checkOrigin(entry: Extract<Entry, { kind: 'origin' }>): Promise<void> {
    const { store, name } = this.options;
    const isOurs = entry.node === name && Buffer.compare(entry.pepper, store.keys.secret) === 0;
    if (isOurs) return;
    if (!store.applied.isEmpty) {
      throw new StoppedError(
        `the store holds data that the log does not know: begin with an empty directory, or a backup of node ${entry.node}`,
      );
    }
    if (entry.hasData) {
      throw new StoppedError(
        `the log continues a store of node ${entry.node}: begin with a backup of a node`,
      );
    }
    await store.keys.adoptSecret(entry.pepper);
  }

  /** Runs `body` while the bundle is in the staging folder. */
  private async withLargeBundle<T>(
    { name, bytes, sha256 }: Extract<Entry, { kind: 'large-bundle' }>,
    { id, position, readBundle }: LogMessage,
    body: () => Promise<T>,
  ): Promise<T> {
    const { store, publisher } = this.options;
    if (readBundle === undefined) throw new MalformedError('it names no bundle');
    const file = bundleFile(store.directory, name);
    // The waiting command has written it there.
    const isThere = publisher.awaits(id);
    try {
      if (!isThere) {
        await stagingFolder(store.directory);
        await pipeline(readBundle(), createWriteStream(file, { mode: 0o600 }));
      }
      const { size } = await stat(file);
      // All nodes find the same faults in a bundle that passes this check.
      if (size !== bytes || Buffer.compare(await digestOf(file), sha256) !== 0) {
        throw new Error(
          `the bundle of the log's entry ${position} is damaged: start this node with a backup of a node that is past it`,
        );
      }
      return await body();
    } finally {
      if (!isThere) await rm(file, { force: true });
    }
  }
}

/** An entry that may share a transaction with others; null if it needs a separate one. */
async function sharedEntry(data: Uint8Array): Promise<SharedEntry | null> {
  try {
    const entry = unpackEntry(data);
    if (entry.kind === 'retirement') return entry;
    if (entry.kind !== 'bundle') return null;
    const { value: header } = await framesOf(entry.bundle).next();
    // A bundle that refuses losses must be compared with the store as the previous entry left it.
    return header?.kind !== 'header' || header.refusesLoss === true ? null : entry;
  } catch {
    // applyOne() reports what is wrong with it.
    return null;
  }
}

/** Why a node stops at a bundle that it cannot read. */
function stopOf({ what, isNewer }: BundleVersionError): string {
  const advice = isNewer
    ? 'run a newer Fathom on this node'
    : 'begin with a backup of a node that has applied it';
  return `the log's next entry has ${what}: ${advice}`;
}

/** Whether every node refuses the entry. Any other failure may happen only on this node. */
function isRefused(error: unknown): boolean {
  return error instanceof RefusalError || error instanceof StoreChangedError;
}
