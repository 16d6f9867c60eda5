/** The fragments that are kept: the ones used most in memory, all that fit in files. */
import { LRUCache } from 'lru-cache';
import { type FragmentsKey, unpackFragments } from '../../compute/replay/fragment-file.js';
import { bytesOfFragments, type SegmentFragments } from '../../compute/replay/fragments.js';
import type { PagePlan } from '../../storage/contract.js';
import { countedCache } from '../../storage/counted-cache.js';
import { FRAGMENT_FILES, type FragmentFiles } from '../../storage/fragment-files.js';
import { Lender } from '../../storage/lender.js';
import { DEFAULT_SHARES } from '../memory.js';
import { ReadBuffers } from './read-buffers.js';

/** Memory of a segment's fragments besides their columns: objects, key. */
const ENTRY_BYTES = 2048;
/** Fragments of which the last read is remembered. */
const MAX_READ_NAMES = 65_536;
/** Pages whose fragments are read from files at one time: bounds the memory that they take. */
const PAGES_READ_AT_ONCE = 8;

/** A segment's fragments that a page needs, and the plan's snapshots that they must be of. */
export interface WantedFragments {
  key: FragmentsKey;
  snapshots: PagePlan['snapshots'];
  /** Rows `first <= row < end` are the snapshots from index `at` on. */
  rows: { first: number; end: number; at: number }[];
}

interface Kept {
  fragments: SegmentFragments;
  /** Read from a file; no plan has confirmed every row yet, so they may be an older segment's. */
  isDoubtful: boolean;
}

export interface FragmentStoreOptions {
  /** Memory that fragments may take; 0: none are kept, neither in files. */
  memoryBytes?: number;
  /** null: fragments are only in memory. */
  files?: FragmentFiles | null;
}

export class FragmentStore {
  /** By name; null: none are kept. */
  private readonly kept: LRUCache<string, Kept> | null;
  private readonly files: FragmentFiles | null;
  private readonly reading = new Lender(
    Array.from({ length: PAGES_READ_AT_ONCE }, () => new ReadBuffers()),
  );
  /** By name: when fragments were last read from their file, as a count of files read. */
  private readonly lastRead = countedCache<string, number>(MAX_READ_NAMES);
  private filesRead = 0;

  constructor({ memoryBytes = DEFAULT_SHARES.fragments, files = null }: FragmentStoreOptions) {
    const sizeCalculation = ({ fragments }: Kept) => bytesOfFragments(fragments) + ENTRY_BYTES;
    this.kept = memoryBytes === 0 ? null : new LRUCache({ maxSize: memoryBytes, sizeCalculation });
    this.files = this.kept === null ? null : files;
  }

  get isOff(): boolean {
    return this.kept === null;
  }

  get memoryBytes(): number {
    return this.kept?.calculatedSize ?? 0;
  }

  hasFile(key: FragmentsKey): boolean {
    return this.files?.has(key) === true;
  }

  /** The fragments in memory; null if there are none of these snapshots. */
  inMemory(wanted: WantedFragments): SegmentFragments | null {
    const { key, rows } = wanted;
    const kept = this.kept?.get(FRAGMENT_FILES.textOf(key));
    if (kept === undefined || !fits(kept, wanted)) return null;
    const all = kept.fragments.t.length;
    if (rows.some(({ first, end }) => first === 0 && end === all)) kept.isDoubtful = false;
    this.touch([key]);
    return kept.fragments;
  }

  /**
   * Calls `use` with the fragments from files or, if another page has read them in the meantime, from memory; null for
   * those that are missing, damaged, or another segment's. The next page overwrites them.
   */
  read<T>(
    wanted: readonly WantedFragments[],
    use: (fragments: (SegmentFragments | null)[]) => T,
  ): Promise<T> {
    return this.reading.use(async (buffers) => {
      const read = wanted.map(async (one, i) => {
        return this.inMemory(one) ?? (await this.readOne(one, (bytes) => buffers.at(i, bytes)));
      });
      return use(await Promise.all(read));
    });
  }

  /** Whether this many more fragments of average size fit on disk or in memory without evicting others. */
  hasRoom(more: number): boolean {
    if (this.files?.hasRoom(more)) return true;
    const { calculatedSize = 0, maxSize = 0, size = 0 } = this.kept ?? {};
    return calculatedSize + more * (calculatedSize / Math.max(1, size)) <= maxSize;
  }

  /** Records that a page of these fragments was sent: their files go last. */
  touch(keys: readonly FragmentsKey[]): void {
    for (const key of keys) this.files?.touch(key);
  }

  /** @param isAhead whether they are made before they are requested: these are kept only in files */
  async keep(key: FragmentsKey, packed: Uint8Array, isAhead: boolean): Promise<void> {
    if (!isAhead) {
      const fragments = unpackFragments(packed, key);
      if (fragments === null) throw new Error('fragments were damaged between threads');
      this.kept?.set(FRAGMENT_FILES.textOf(key), { fragments, isDoubtful: false });
    }
    await this.files?.write(key, packed);
    if (!isAhead) this.touch([key]);
  }

  /** Resolves once all files dropped so far are gone. */
  async settled(): Promise<void> {
    await this.files?.settled();
  }

  /** The fragments as views of `memory`. */
  private async readOne(
    wanted: WantedFragments,
    memory: (bytes: number) => ArrayBuffer,
  ): Promise<SegmentFragments | null> {
    const { key } = wanted;
    const name = FRAGMENT_FILES.textOf(key);
    const read = (await this.files?.read(key, memory)) ?? null;
    if (read === null || !fits({ fragments: read.content, isDoubtful: true }, wanted)) {
      if (read !== null) this.files?.drop(key);
      this.kept?.delete(name);
      return null;
    }
    if (this.earnsMemory(name, read.bytes.length)) {
      const own = unpackFragments(read.bytes.slice(), key);
      if (own !== null) this.kept?.set(name, { fragments: own, isDoubtful: true });
    }
    this.touch([key]);
    return read.content;
  }

  /**
   * Whether fragments that were read stay in memory: if it has room, or if an LRU of its size would still hold them
   * from their last use. So one walk through a long history evicts nothing.
   */
  private earnsMemory(name: string, bytes: number): boolean {
    const before = this.lastRead.get(name) ?? -Infinity;
    this.lastRead.set(name, ++this.filesRead);
    const { calculatedSize = 0, maxSize = 0, size = 0 } = this.kept ?? {};
    const hasRoom = calculatedSize + bytes + ENTRY_BYTES <= maxSize;
    return hasRoom || this.filesRead - before <= size;
  }
}

/** Whether the rows are the wanted snapshots. */
function fits(
  { fragments: { t, digests }, isDoubtful }: Kept,
  { snapshots, rows }: WantedFragments,
): boolean {
  return rows.every(({ first, end, at }) => {
    if (end > t.length || t[first] !== snapshots[at].t) return false;
    for (let row = first, s = at; isDoubtful && row < end; row++, s++) {
      if (digests[row] !== snapshots[s].digest >>> 0 || t[row] !== snapshots[s].t) return false;
    }
    return true;
  });
}
