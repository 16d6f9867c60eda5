/**
 * Gathers rows of holders into snapshots. Rows of one snapshot mostly follow one another: it is
 * closed, and packed with others of its token, as soon as a row of another one comes. Rows that come
 * later still are kept until the end of the file and then put to it.
 */
import { decodeHolderBlock } from '../../compute/holders/block-decoder.js';
import type { HolderSnapshot } from '../../compute/holders/block-format.js';
import { MAX_OWNERS_PER_SNAPSHOT } from '../../compute/holders/owners.js';
import type { FaultLog } from '../../compute/ingest/faults.js';
import type { BundleWriter, FramePlace } from '../bundle/bundle.js';
import type { HoldersFrame } from '../bundle/frames.js';
import { HolderColumns } from './holder-columns.js';
import type { HolderRow } from './holder-fields.js';
import { framesOf } from './holder-frames.js';
import { FileOwners, MAX_OWNERS_PER_FILE } from './holder-owners.js';

/** Snapshots of one file. */
export const MAX_SNAPSHOTS_PER_FILE = 1_000_000;
/** Rows that come after the rows of their snapshot were left, at 20 bytes each: 160 MB. */
export const MAX_SCATTERED_ROWS = 8_000_000;
/** Closed snapshots of one token that make a frame: an hour of minutes. */
const FRAME_SNAPSHOTS = 60;
/** Rows of closed snapshots that wait for others of their token, at 12 bytes each: 12 MB. */
const MAX_WAITING_ROWS = 1_000_000;

/** A snapshot of which all rows that follow one another have been read. */
type Closed = FramePlace | 'waiting';

interface FileToken {
  tokenAddress: string;
  closed: Map<number, Closed>;
  waiting: HolderSnapshot[];
  /** Rows that came later, by t. */
  scattered: Map<number, HolderColumns>;
}

export class HolderGatherer {
  /** Snapshots so far. */
  snapshots = 0;
  readonly owners = new FileOwners();
  private readonly tokens = new Map<string, FileToken>();
  private token: FileToken | null = null;
  private t = -1;
  private readonly open = new HolderColumns(false);
  /** Rows of the snapshot at hand if it was left before. */
  private late: HolderColumns | null = null;
  private waitingRows = 0;
  private scatteredRows = 0;

  constructor(private readonly bundle: Pick<BundleWriter, 'append' | 'read'>) {}

  /** Whether a row belongs to another snapshot than the one before it: begin() is then to be called. */
  isNext({ token_address: address, t }: HolderRow): boolean {
    return t !== this.t || this.token?.tokenAddress !== address;
  }

  /** Leaves the snapshot at hand and begins, or goes on with, another one. */
  async begin({ token_address: tokenAddress, t }: HolderRow, faults: FaultLog): Promise<void> {
    await this.close();
    const token = this.tokens.get(tokenAddress) ?? newToken(tokenAddress);
    this.tokens.set(tokenAddress, token);
    this.token = token;
    this.t = t;
    this.owners.beginSnapshot();
    if (!token.closed.has(t)) {
      this.snapshots++;
      if (this.snapshots > MAX_SNAPSHOTS_PER_FILE) {
        faults.add('t', `a file has at most ${MAX_SNAPSHOTS_PER_FILE} snapshots`);
      }
      return;
    }
    this.late = token.scattered.get(t) ?? new HolderColumns(true);
    token.scattered.set(t, this.late);
  }

  /** Adds a row of the snapshot at hand. @returns whether the file may go on */
  add({ owner, balance }: HolderRow, faults: FaultLog): boolean {
    const { late } = this;
    const id = this.owners.id(owner);
    if (late !== null) {
      late.push(id, balance, faults.line);
      this.scatteredRows++;
    } else {
      if (this.owners.see(id)) faults.add('owner', 'comes twice in one snapshot');
      else if (balance > 0) this.open.push(id, balance, faults.line);
    }
    return this.isWithinLimits(late ?? this.open, faults);
  }

  /** Closes the last snapshot and puts the rows that came late to theirs. */
  async finish(faults: FaultLog): Promise<void> {
    await this.close();
    await this.writeWaiting();
    for (const token of this.tokens.values()) await this.putLateRows(token, faults);
    if (faults.count === 0) await this.writeWaiting();
  }

  private isWithinLimits({ length }: HolderColumns, faults: FaultLog): boolean {
    const before = faults.count;
    if (length > MAX_OWNERS_PER_SNAPSHOT) {
      faults.add('owner', `a snapshot has at most ${MAX_OWNERS_PER_SNAPSHOT} owners`);
    }
    if (this.owners.size > MAX_OWNERS_PER_FILE) {
      faults.add('owner', `a file names at most ${MAX_OWNERS_PER_FILE} owners`);
    }
    if (this.scatteredRows > MAX_SCATTERED_ROWS) {
      const message = `more than ${MAX_SCATTERED_ROWS} rows lie apart from others of their token and t: sort the file by them`;
      faults.add('t', message);
    }
    return faults.count === before;
  }

  private async close(): Promise<void> {
    const { token, t, open } = this;
    this.token = null;
    this.t = -1;
    const wasLate = this.late !== null;
    this.late = null;
    if (token === null || wasLate) return;
    await this.wait(token, { t, ...open.sorted(this.owners.scratch()) });
    open.clear();
  }

  /** Lets a closed snapshot wait for others of its token. */
  private async wait(token: FileToken, snapshot: HolderSnapshot): Promise<void> {
    token.closed.set(snapshot.t, 'waiting');
    token.waiting.push(snapshot);
    this.waitingRows += snapshot.owner.length;
    if (token.waiting.length >= FRAME_SNAPSHOTS) await this.write(token);
    if (this.waitingRows > MAX_WAITING_ROWS) await this.writeWaiting();
  }

  private async writeWaiting(): Promise<void> {
    for (const token of this.tokens.values()) await this.write(token);
  }

  private async write(token: FileToken): Promise<void> {
    const { tokenAddress, waiting, closed } = token;
    if (waiting.length === 0) return;
    token.waiting = [];
    for (const frame of framesOf(tokenAddress, waiting, this.owners)) {
      const place = await this.bundle.append(frame);
      for (const t of frame.times) closed.set(t, place);
    }
    this.waitingRows -= waiting.reduce((sum, { owner }) => sum + owner.length, 0);
  }

  /** Writes each snapshot that rows came late to once more; it takes the first one's place. */
  private async putLateRows(token: FileToken, faults: FaultLog): Promise<void> {
    const byFrame = new Map<FramePlace, number[]>();
    for (const t of token.scattered.keys()) {
      const place = token.closed.get(t) as FramePlace;
      byFrame.set(place, [...(byFrame.get(place) ?? []), t]);
    }
    for (const [place, times] of byFrame) {
      const frame = (await this.bundle.read(place)) as HoldersFrame;
      const ids = this.owners.idsOf(frame.names);
      for (const snapshot of decodeHolderBlock(frame.block, times)) {
        const rows = this.joined(snapshot, ids, token.scattered.get(snapshot.t), faults);
        token.scattered.delete(snapshot.t);
        if (faults.count > 0) continue;
        const columns = rows.sorted(this.owners.scratch());
        await this.wait(token, { t: snapshot.t, ...columns });
      }
    }
  }

  private joined(
    { owner, balance }: HolderSnapshot,
    ids: Uint32Array,
    late: HolderColumns | undefined,
    faults: FaultLog,
  ): HolderColumns {
    const rows = new HolderColumns(false);
    this.owners.beginSnapshot();
    for (let i = 0; i < owner.length; i++) {
      this.owners.see(ids[owner[i]]);
      rows.push(ids[owner[i]], balance[i], 0);
    }
    for (let i = 0; late !== undefined && i < late.length; i++) {
      faults.line = late.lineOf(i);
      if (this.owners.see(late.owner(i))) faults.add('owner', 'comes twice in one snapshot');
      else if (late.balance(i) > 0) rows.push(late.owner(i), late.balance(i), 0);
    }
    this.isWithinLimits(rows, faults);
    return rows;
  }
}

const newToken = (tokenAddress: string): FileToken => ({
  tokenAddress,
  closed: new Map(),
  waiting: [],
  scattered: new Map(),
});
