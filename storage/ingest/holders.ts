/** Validates rows of `holders` and writes them into a bundle. */
import { decodeHolderBlock } from '../../compute/holders/block-decoder.js';
import type { HolderSnapshot } from '../../compute/holders/block-format.js';
import { MAX_OWNERS_PER_SNAPSHOT } from '../../compute/holders/owners.js';
import { type FaultLog, MAX_T_S } from '../../compute/ingest/fields.js';
import { pushTo } from '../../compute/collections.js';
import { chainOfAddress } from '../../compute/market.js';
import type { BundleWriter, FrameRange, HoldersFrame } from '../bundle.js';
import { MAX_BALANCE } from './fields.js';
import { readFlatRow } from './flat-rows.js';
import { FileOwners, framesOf, HolderColumns, MAX_OWNERS_PER_FILE } from './holder-snapshots.js';
import type { RowSink } from './prepared.js';

const MAX_SNAPSHOTS_PER_FILE = 1_000_000;
/** Rows apart from the other rows of their snapshot, at 20 bytes each: 160 MB. */
export const MAX_SCATTERED_ROWS = 8_000_000;
/** Closed snapshots of one token per frame: an hour of minutes. */
const FRAME_SNAPSHOTS = 60;
/** Rows of closed snapshots that wait for other snapshots of their token, at 12 bytes each: 12 MB. */
const MAX_WAITING_ROWS = 1_000_000;
/** Printable ASCII without spaces: wallets of any program. */
const OWNER = /^[!-~]+$/;

/** A valid row. */
export interface HolderRow {
  token_address: string;
  t: number;
  owner: string;
  balance: number;
}

interface FileToken {
  tokenAddress: string;
  /** Snapshots after which another one began: where each was written, or null while it waits. */
  closed: Map<number, FrameRange | null>;
  waiting: HolderSnapshot[];
  /** Later rows of closed snapshots, by `t`. */
  scattered: Map<number, HolderColumns>;
}

export function holderSink(bundle: BundleWriter): RowSink {
  const collector = new HolderCollector(bundle);
  const reader = new HolderRows(collector.owners);
  return {
    add(given, faults) {
      const row = reader.read(given, faults);
      if (row === null) return true;
      if (!collector.isNext(row)) return collector.add(row, faults);
      return collector.begin(row, faults).then(() => collector.add(row, faults));
    },
    async finish(faults, report) {
      await collector.finish(faults);
      report.snapshots = collector.snapshots;
    },
  };
}

/** Reads rows; does not check addresses again that were valid before. */
class HolderRows {
  private lastAddress = '';

  /** @param owners the valid owners so far */
  constructor(private readonly owners: FileOwners) {}

  /** A valid row, or null with its faults added. */
  read(given: unknown, faults: FaultLog): HolderRow | null {
    const row = given as Partial<HolderRow> | null;
    if (row !== null && this.isPlain(row) && this.owners.has(row.owner)) return row;
    const checked = readFlatRow('holders', given, faults) as unknown as HolderRow | null;
    if (checked === null) return null;
    const before = faults.count;
    if (chainOfAddress(checked.token_address) !== 'mainchain') {
      faults.add('token_address', 'must be an address of mainchain');
    }
    if (!OWNER.test(checked.owner)) {
      faults.add('owner', 'must be printable ASCII without spaces');
    }
    if (faults.count > before) return null;
    this.lastAddress = checked.token_address;
    return checked;
  }

  /** Whether everything except the owner of a row is valid; the owner may be any text. */
  private isPlain(row: Partial<HolderRow>): row is HolderRow {
    const { token_address: address, t, owner, balance } = row;
    return (
      address === this.lastAddress &&
      typeof owner === 'string' &&
      typeof t === 'number' &&
      Number.isInteger(t) &&
      t >= 0 &&
      t <= MAX_T_S &&
      typeof balance === 'number' &&
      balance >= 0 &&
      balance <= MAX_BALANCE
    );
  }
}

/** Collects rows snapshot by snapshot and writes them in frames. Rows of one snapshot may be far apart. */
export class HolderCollector {
  /** Number of snapshots so far. */
  snapshots = 0;
  readonly owners = new FileOwners();
  private readonly tokens = new Map<string, FileToken>();
  /** Token and `t` of the open snapshot. */
  private token: FileToken | null = null;
  private t = -1;
  private readonly open = new HolderColumns();
  /** Replaces `open` if the snapshot had been closed before. */
  private late: HolderColumns | null = null;
  private waitingRows = 0;
  private scatteredRows = 0;

  constructor(private readonly bundle: Pick<BundleWriter, 'write' | 'read'>) {}

  /** Whether a row begins another snapshot: then call begin(). */
  isNext({ token_address: address, t }: HolderRow): boolean {
    return t !== this.t || this.token?.tokenAddress !== address;
  }

  /** Closes the open snapshot and opens the row's, for the first time or again. */
  async begin({ token_address: tokenAddress, t }: HolderRow, faults: FaultLog): Promise<void> {
    await this.close();
    let token = this.tokens.get(tokenAddress);
    if (token === undefined) {
      token = { tokenAddress, closed: new Map(), waiting: [], scattered: new Map() };
      this.tokens.set(tokenAddress, token);
    }
    this.token = token;
    this.t = t;
    this.owners.forgetSeen();
    if (!token.closed.has(t)) {
      this.snapshots++;
      if (this.snapshots > MAX_SNAPSHOTS_PER_FILE) {
        faults.add('t', `a file has at most ${MAX_SNAPSHOTS_PER_FILE} snapshots`);
      }
      return;
    }
    this.late = token.scattered.get(t) ?? new HolderColumns();
    token.scattered.set(t, this.late);
  }

  /** Adds a row of the open snapshot. @returns whether more rows may follow */
  add({ owner, balance }: HolderRow, faults: FaultLog): boolean {
    const { late } = this;
    const id = this.owners.id(owner);
    if (late !== null) {
      late.push(id, balance, faults.line);
      this.scatteredRows++;
    } else if (this.owners.see(id)) {
      faults.add('owner', 'occurs twice in one snapshot');
    } else if (balance > 0) {
      this.open.push(id, balance, faults.line);
    }
    return this.isWithinLimits(late ?? this.open, faults);
  }

  /** Closes the last snapshot and adds the scattered rows to their snapshots. */
  async finish(faults: FaultLog): Promise<void> {
    await this.close();
    await this.writeWaiting();
    for (const token of this.tokens.values()) await this.addScattered(token, faults);
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
    const { token, t, late, open } = this;
    this.token = null;
    this.t = -1;
    this.late = null;
    if (token === null || late !== null) return;
    await this.wait(token, { t, ...open.sorted(this.owners.scratch()) });
    open.length = 0;
  }

  /** Lets a closed snapshot wait for other snapshots of its token. */
  private async wait(token: FileToken, snapshot: HolderSnapshot): Promise<void> {
    token.closed.set(snapshot.t, null);
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
      const range = await this.bundle.write(frame);
      for (const t of frame.times) closed.set(t, range);
    }
    this.waitingRows -= waiting.reduce((sum, { owner }) => sum + owner.length, 0);
  }

  /** Writes each snapshot with scattered rows again; the last one written counts. */
  private async addScattered(token: FileToken, faults: FaultLog): Promise<void> {
    const timesByFrame = new Map<FrameRange, number[]>();
    for (const t of token.scattered.keys()) pushTo(timesByFrame, token.closed.get(t)!, t);
    for (const [range, times] of timesByFrame) {
      const frame = (await this.bundle.read(range)) as HoldersFrame;
      const ids = this.owners.idsOf(frame.names);
      for (const snapshot of decodeHolderBlock(frame.block, times)) {
        const rows = this.joined(snapshot, ids, token.scattered.get(snapshot.t)!, faults);
        token.scattered.delete(snapshot.t);
        if (faults.count > 0) continue;
        const columns = rows.sorted(this.owners.scratch());
        await this.wait(token, { t: snapshot.t, ...columns });
      }
    }
  }

  /** @param ids the file's numbers of the snapshot's owners */
  private joined(
    { owner, balance }: HolderSnapshot,
    ids: Uint32Array,
    late: HolderColumns,
    faults: FaultLog,
  ): HolderColumns {
    const rows = new HolderColumns();
    this.owners.forgetSeen();
    for (let i = 0; i < owner.length; i++) {
      this.owners.see(ids[owner[i]]);
      rows.push(ids[owner[i]], balance[i], 0);
    }
    for (let i = 0; i < late.length; i++) {
      const id = late.owners[i];
      faults.line = late.lines[i];
      if (this.owners.see(id)) faults.add('owner', 'occurs twice in one snapshot');
      else if (late.balances[i] > 0) rows.push(id, late.balances[i], 0);
    }
    this.isWithinLimits(rows, faults);
    return rows;
  }
}
