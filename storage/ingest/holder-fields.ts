/** Dataset `holders`: its fields and what makes a row of them. */
import type { FaultLog } from '../../compute/ingest/faults.js';
import { MAX_OWNER_LENGTH } from '../../compute/holders/owners.js';
import { chainOfAddress } from '../../compute/market.js';
import { readFlatRow, type FlatField } from './flat-row.js';
import { MAX_EPOCH_S } from './token-fields.js';

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
  { name: 't', kind: 'integer', nullable: false, min: 0, max: MAX_EPOCH_S },
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
      t <= MAX_EPOCH_S &&
      typeof balance === 'number' &&
      balance >= 0 &&
      balance <= MAX_BALANCE
    );
  }
}
