/** Validates rows of `holders` into a bundle. */
import { decodeHolderBlock } from '../../compute/holders/block-decoder.js';
import type { HolderSnapshot } from '../../compute/holders/block-format.js';
import { MAX_OWNER_LENGTH, MAX_OWNERS_PER_SNAPSHOT } from '../../compute/holders/owners.js';
import { FaultLog, MAX_FAULTS, MAX_T_S } from '../../compute/ingest/fields.js';
import { chainOfAddress } from '../../compute/market.js';
import type { BundleWriter, FramePlace, HoldersFrame } from '../bundle.js';
import { type FlatField, readFlatRow } from './flat-fields.js';
import { FileOwners, framesOf, HolderColumns, MAX_OWNERS_PER_FILE } from './holder-snapshots.js';
import { type BundleRequest, type PreparedFile, refusal, withBundle } from './prepared.js';
import type { NumberedRow } from './rows.js';

/** Rows after which progress is told. */
const PROGRESS_ROWS = 65_536;

/**
 * Prepares rows of `holders`, wherever they come from.
 * @param unreadable filled by `rows` with what is no row at all
 * @throws InputError with the first ten faults; nothing of the rows stays
 */
export function prepareHolderRows(
  request: BundleRequest,
  rows: AsyncIterable<NumberedRow> | Iterable<NumberedRow>,
  unreadable: FaultLog = new FaultLog(),
): Promise<PreparedFile> {
  return withBundle(request, async (bundle, report) => {
    const faults = new FaultLog();
    const reader = new HolderRows();
    const gatherer = new HolderGatherer(bundle);
    const isKnown = (owner: string): boolean => gatherer.owners.has(owner);
    let mayGoOn = true;
    for await (const { line, row: given } of rows) {
      faults.line = line;
      report.rows++;
      const row = reader.read(given, isKnown, faults);
      if (row !== null) {
        if (gatherer.isNext(row)) await gatherer.begin(row, faults);
        mayGoOn = gatherer.add(row, faults);
      }
      if (report.rows % PROGRESS_ROWS === 0) request.onProgress?.(report);
      if (!mayGoOn || faults.count >= MAX_FAULTS) break;
    }
    if (faults.count + unreadable.count === 0) await gatherer.finish(faults);
    const all = [...faults.faults, ...unreadable.faults];
    if (all.length > 0) throw refusal(request.file, all);
    report.snapshots = gatherer.snapshots;
  });
}

/** A valid row. */
export interface HolderRow {
  token_address: string;
  t: number;
  owner: string;
  balance: number;
}

/** A tier's sum of balances stays a number. */
const MAX_BALANCE = 1e300;

export const HOLDER_FIELDS: readonly FlatField[] = [
  { name: 'token_address', kind: 'text', nullable: false },
  { name: 't', kind: 'integer', nullable: false, min: 0, max: MAX_T_S },
  { name: 'owner', kind: 'text', nullable: false, minLength: 1, maxLength: MAX_OWNER_LENGTH },
  { name: 'balance', kind: 'number', nullable: false, min: 0, max: MAX_BALANCE },
];

/** Printable ASCII without spaces: addresses of wallets, whatever programs own them. */
const OWNER = /^[!-~]+$/;

/** Reads rows, the addresses that it has found right before without judging them again. */
export class HolderRows {
  private lastAddress = '';

  /**
   * A valid row, or null with its faults added.
   * @param isKnown whether an owner has been found right before
   */
  read(given: unknown, isKnown: (owner: string) => boolean, faults: FaultLog): HolderRow | null {
    const row = given as Partial<HolderRow> | null;
    if (row !== null && this.isPlain(row) && isKnown(row.owner)) return row;
    const checked = readFlatRow(HOLDER_FIELDS, given, faults) as unknown as HolderRow | null;
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

  /** Whether the row is right but for its owner, which may be anything of type text. */
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
