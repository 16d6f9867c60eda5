/** Holder snapshots for tests, committed and read back. */
import fc from 'fast-check';
import { decodeHolderBlock } from '../../compute/holders/block-decoder.js';
import { HolderBlockEncoder } from '../../compute/holders/block-encoder.js';
import type { HolderSnapshot } from '../../compute/holders/block-format.js';
import type { OwnerNames } from '../../compute/holders/owners.js';
import { BUNDLE_VERSION, type HoldersFrame, type Frame } from '../../storage/bundle.js';
import type { HolderSource } from '../../storage/contract.js';
import type { CommitReport } from '../../storage/operations.js';
import type { Store } from '../../storage/store.js';
import { commitFrames } from './stores.js';

/** Encodes snapshots as one block. */
export function encodeHolderBlock(snapshots: readonly HolderSnapshot[]): Uint8Array {
  const encoder = new HolderBlockEncoder();
  for (const snapshot of snapshots) encoder.add(snapshot);
  return encoder.finish();
}

/** A snapshot from owner numbers and balances in any order. */
export function holderSnapshot(t: number, held: Iterable<readonly [number, number]>) {
  const sorted = [...held].sort(([a], [b]) => a - b);
  const snapshot: HolderSnapshot = {
    t,
    owner: Uint32Array.from(sorted, ([owner]) => owner),
    balance: Float64Array.from(sorted, ([, balance]) => balance),
  };
  return snapshot;
}

/** Any valid balance, down to the smallest. */
const balances = fc.double({ min: Number.MIN_VALUE, max: Number.MAX_VALUE, noNaN: true });

/** Snapshots by ascending t whose owners come, go, come back and change. */
export const histories = fc
  .array(
    fc.record({
      gap: fc.integer({ min: 1, max: 100_000 }),
      held: fc.array(fc.tuple(fc.oneof(fc.nat(12), fc.nat(0xffff_fffe)), balances)),
      keeps: fc.boolean(),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((steps) => {
    let t = 1_700_000_000;
    let held = new Map<number, number>();
    return steps.map((step) => {
      held = new Map([...(step.keeps ? held : []), ...step.held]);
      return holderSnapshot((t += step.gap), held);
    });
  });

/** Texts to owners' names. */
export function namesOf(texts: readonly string[]): OwnerNames {
  const offsets = new Uint32Array(texts.length + 1);
  texts.forEach((text, i) => (offsets[i + 1] = offsets[i] + text.length));
  return { offsets, bytes: new Uint8Array(Buffer.from(texts.join(''), 'latin1')) };
}

/** Owners' names to texts. */
export function textsOf({ offsets, bytes }: OwnerNames): string[] {
  const text = Buffer.from(bytes).toString('latin1');
  return Array.from({ length: offsets.length - 1 }, (_, i) =>
    text.slice(offsets[i], offsets[i + 1]),
  );
}

/** Who held how much. */
export type Held = ReadonlyMap<string, number>;

/** A frame with snapshots of one token. */
export function holdersFrame(
  tokenAddress: string,
  snapshots: ReadonlyMap<number, Held>,
): HoldersFrame {
  const owners = [...new Set([...snapshots.values()].flatMap((held) => [...held.keys()]))];
  const ids = new Map(owners.map((owner, i) => [owner, i]));
  const sorted = [...snapshots].sort(([a], [b]) => a - b);
  const packed = sorted.map(([t, held]) =>
    holderSnapshot(
      t,
      Array.from(held, ([owner, balance]) => [ids.get(owner) as number, balance] as const),
    ),
  );
  return {
    kind: 'holders',
    tokenAddress,
    names: namesOf(owners),
    times: Uint32Array.from(packed, ({ t }) => t),
    block: encodeHolderBlock(packed),
  };
}

/** Commits snapshots of tokens, one frame per token. */
export function commitHolders(
  store: Store,
  tokens: readonly (readonly [string, ReadonlyMap<number, Held>])[],
  options: { rehearse?: boolean } = {},
): Promise<CommitReport> {
  const frames: Frame[] = [
    { kind: 'header', version: BUNDLE_VERSION, file: 'holders.ndjson', mode: 'replace' },
    ...tokens.map(([address, snapshots]) => holdersFrame(address, snapshots)),
  ];
  return commitFrames(store, frames, options);
}

/** Everything stored of a token's holders, by t and owner's name. */
export async function storedHolders(
  source: HolderSource,
  tokenAddress: string,
): Promise<Map<number, Held>> {
  const wanted = [...(await source.times(tokenAddress))];
  const { names, blocks } = await source.read(tokenAddress, wanted);
  const texts = textsOf(names);
  const snapshots = blocks
    .flatMap((block) => decodeHolderBlock(block, wanted))
    .sort((a, b) => a.t - b.t);
  return new Map(
    snapshots.map(({ t, owner, balance }) => [
      t,
      new Map(Array.from(owner, (id, i) => [texts[id], balance[i]])),
    ]),
  );
}

/** Wallets by number, from `from` on, with balances decided by `seed`. */
export function held(count: number, seed: number, from = 0): Held {
  return new Map(
    Array.from({ length: count }, (_, i) => [`wallet${from + i}`, ((i * 7 + seed) % 13) + 0.25]),
  );
}
