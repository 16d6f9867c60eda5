/** The refusal of a change that needs damaged snapshots: it names them, and the command that deletes exactly these. */
import path from 'node:path';
import { DamageError, isDamage } from '../compute/damage.js';
import type { Tier } from '../compute/market.js';
import { isoOf } from '../compute/time.js';
import type { TokenName } from './contract.js';
import { shellWord } from './shell-word.js';

/** The snapshots of a stored block. */
interface BlockSpan extends TokenName {
  id: number;
  /** null: snapshots of holders. */
  tier: Tier | null;
  /** Epoch seconds, ascending; never empty. */
  times: Uint32Array;
}

export class DamagedSpanError extends DamageError {
  /** What is damaged. The message adds what to do about it. */
  readonly fault: string;
  readonly ids: readonly number[];

  constructor(directory: string, damaged: readonly BlockSpan[], cause: Error) {
    const [{ chain, address, tier, times }] = damaged;
    const token = `${chain}:${address}`;
    const [from, to] = [times[0], times[times.length - 1]];
    const more = damaged.length - 1;
    const others = more === 0 ? '' : `, and ${more} more of its blocks (fathom check lists them)`;
    const fault = `the stored ${tier ?? 'holder'} snapshots of ${token} from ${isoOf(from)} to ${isoOf(to)} are damaged${others}: ${cause.message}`;
    const what = tier === null ? '--holders' : `--tier ${tier}`;
    super(
      `${fault}; this change needs them, so nothing was stored: delete them, then load them again: fathom delete --data ${shellWord(path.resolve(directory))} --token ${token} ${what} --from ${isoOf(from)} --to ${isoOf(to + 1)}`,
      { cause },
    );
    this.fault = fault;
    this.ids = damaged.map(({ id }) => id);
  }
}

/**
 * The error to throw after a failure to read some blocks together.
 * @param read reads a block outside of the transaction: DuckDB ends a transaction at the first failed read
 */
export async function damageOf(
  error: unknown,
  directory: string,
  blocks: readonly BlockSpan[],
  read: (id: number) => Promise<unknown>,
): Promise<unknown> {
  if (!isDamage(error)) return error;
  let cause = error;
  const damaged: BlockSpan[] = [];
  for (const block of blocks) {
    await read(block.id).catch((found: unknown) => {
      if (!isDamage(found)) throw found;
      if (damaged.length === 0) cause = found;
      damaged.push(block);
    });
  }
  return damaged.length === 0 ? error : new DamagedSpanError(directory, damaged, cause);
}

/** @throws the error; damage that no command can remove names its remedy, as a DamagedSpanError does */
export function withRemedy(error: unknown): never {
  if (!isDamage(error) || error instanceof DamagedSpanError) throw error;
  throw new DamageError(`${error.message}; nothing was stored: restore a backup`, { cause: error });
}
