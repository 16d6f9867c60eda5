/** Holder history in memory, in blocks of the real codec. */
import { encodeHolderBlock } from '../../compute/holders/block-encoder.js';
import type { HolderSnapshot } from '../../compute/holders/block-format.js';
import type { OwnerNames } from '../../compute/holders/owners.js';
import type { HolderBlocks, HolderSource } from '../../storage/contract.js';
import type { HolderRow } from '../reference/holders.js';
import { holderSnapshot } from './holders.js';

/** Few, so that a flow needs several blocks, and not all of any. */
const SNAPSHOTS_A_BLOCK = 3;

interface History {
  names: OwnerNames;
  times: Uint32Array;
  blocks: { times: readonly number[]; block: Uint8Array }[];
}

export class MemoryHolders implements HolderSource {
  /** Mints whose blocks were read, in order. */
  readonly reads: string[] = [];
  /** Called before blocks are handed out. */
  beforeRead: (tokenAddress: string) => Promise<void> | void = () => undefined;
  private readonly histories = new Map<string, History>();

  /** Puts rows in place of all that a mint had. */
  set(tokenAddress: string, rows: readonly HolderRow[]): void {
    this.histories.set(tokenAddress, historyOf(rows));
  }

  times(tokenAddress: string): Promise<Uint32Array> {
    return Promise.resolve(this.histories.get(tokenAddress)?.times ?? new Uint32Array(0));
  }

  async read(tokenAddress: string, times: readonly number[]): Promise<HolderBlocks> {
    this.reads.push(tokenAddress);
    await this.beforeRead(tokenAddress);
    const history = this.histories.get(tokenAddress);
    if (history === undefined) throw new Error(`${tokenAddress} has no holders`);
    const wanted = history.blocks.filter((block) => block.times.some((t) => times.includes(t)));
    return { names: history.names, blocks: wanted.map(({ block }) => block.slice()) };
  }
}

function historyOf(rows: readonly HolderRow[]): History {
  const ids = new Map<string, number>();
  const held = new Map<number, Map<number, number>>();
  for (const { t, owner, balance } of rows) {
    const id = ids.get(owner) ?? ids.size;
    ids.set(owner, id);
    held.set(t, (held.get(t) ?? new Map<number, number>()).set(id, balance));
  }
  const snapshots = [...held].map(([t, balances]) => holderSnapshot(t, balances));
  snapshots.sort((a, b) => a.t - b.t);
  return {
    names: namesOf([...ids.keys()]),
    times: Uint32Array.from(snapshots, ({ t }) => t),
    blocks: blocksOf(snapshots),
  };
}

function blocksOf(snapshots: readonly HolderSnapshot[]): History['blocks'] {
  const blocks: History['blocks'] = [];
  for (let from = 0; from < snapshots.length; from += SNAPSHOTS_A_BLOCK) {
    const part = snapshots.slice(from, from + SNAPSHOTS_A_BLOCK);
    blocks.push({ times: part.map(({ t }) => t), block: encodeHolderBlock(part) });
  }
  return blocks;
}

/** Owners' names by their number. */
export function namesOf(owners: readonly string[]): OwnerNames {
  const offsets = new Uint32Array(owners.length + 1);
  owners.forEach((owner, i) => (offsets[i + 1] = offsets[i] + owner.length));
  return { offsets, bytes: Buffer.from(owners.join(''), 'latin1') };
}
