/** Packs a file's holder snapshots into frames. */
import { HolderBlockEncoder } from '../../compute/holders/block-encoder.js';
import type { HolderSnapshot } from '../../compute/holders/block-format.js';
import type { HoldersFrame } from '../bundle/frames.js';
import type { FileOwners } from './holder-owners.js';

/** Changes of a frame's block behind its first snapshot that close it, at 24 bytes each: 48 MB. */
const MAX_FRAME_CHANGES = 2 * 1024 * 1024;

/** Snapshots of one token, each t once, by the file's numbers of their owners. */
export function* framesOf(
  tokenAddress: string,
  snapshots: readonly HolderSnapshot[],
  owners: FileOwners,
): Generator<HoldersFrame> {
  const sorted = [...snapshots].sort((a, b) => a.t - b.t);
  const ids = distinctOwners(sorted);
  const places = owners.scratch();
  ids.forEach((id, place) => (places[id] = place));
  const names = owners.namesOf(ids);
  let encoder = new HolderBlockEncoder();
  const frame = (): HoldersFrame => ({
    kind: 'holders',
    tokenAddress,
    names,
    times: Uint32Array.from(encoder.times),
    block: encoder.finish(),
  });
  for (const snapshot of sorted) {
    encoder.add({ ...snapshot, owner: snapshot.owner.map((id) => places[id]) });
    if (encoder.changes < MAX_FRAME_CHANGES) continue;
    yield frame();
    encoder = new HolderBlockEncoder();
  }
  if (encoder.times.length > 0) yield frame();
}

/** Every owner of the snapshots, ascending. */
function distinctOwners(snapshots: readonly HolderSnapshot[]): Uint32Array {
  let ids = snapshots[0].owner;
  for (const { owner } of snapshots) {
    if (owner === ids || isWithin(owner, ids)) continue;
    ids = union(ids, owner);
  }
  return ids;
}

function isWithin(some: Uint32Array, all: Uint32Array): boolean {
  let a = 0;
  for (const id of some) {
    while (a < all.length && all[a] < id) a++;
    if (a === all.length || all[a] !== id) return false;
  }
  return true;
}

function union(a: Uint32Array, b: Uint32Array): Uint32Array {
  const both = new Uint32Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  both.sort();
  let count = 0;
  for (let i = 0; i < both.length; i++)
    if (i === 0 || both[i] !== both[i - 1]) both[count++] = both[i];
  return both.slice(0, count);
}
