/** Reads a store's rows by name, and compares them with the expected ones. */
import { decodeHolderBlock } from '../../compute/holders/block-decoder.js';
import { type Market, type Tier, TIER_LENGTH_S, TIERS } from '../../compute/market.js';
import type { SnapshotRun } from '../../compute/segment/run.js';
import { decodeSegment } from '../../compute/segment/segment.js';
import { SegmentGoneError } from '../../storage/contract.js';
import type { Store } from '../../storage/store.js';
import {
  depthRow,
  HOUR,
  MERGED,
  mergedRow,
  type Operation,
  type Rows,
  TOKENS,
} from './operations.js';

/** A row whose parts come from several files. */
const MIXED = NaN;

/** Every stored row, read as readers do. */
export async function contentsOf(store: Store): Promise<Map<string, number>> {
  const rows = new Map<string, number>();
  for (const tokenId of store.depth.tokenIds()) {
    const details = store.depth.tokenById(tokenId);
    if (details === null) continue;
    const { address, symbol } = details;
    if (symbol !== null) rows.set(`token ${address}`, Number(symbol.slice(1)));
    await addDepth(rows, store, tokenId, address);
  }
  for (const address of TOKENS) await addHolders(rows, store, address);
  for await (const orders of store.orders.dca.all()) {
    for (const { dcaAddress, remainingUsd } of orders) rows.set(`dca ${dcaAddress}`, remainingUsd);
  }
  for await (const orders of store.orders.limit.all()) {
    for (const { orderAddress, remainingUsd } of orders) {
      rows.set(`limit ${orderAddress}`, remainingUsd);
    }
  }
  for (const { pubkey, reserveX } of await store.lp.dlmmPools()) {
    rows.set(`pool ${pubkey}`, reserveX);
  }
  const toS = (HOUR + 1) * 3600;
  const hours = await store.lp.dlmmHours(0, toS);
  hours.hour.forEach((hour, i) =>
    rows.set(`hour ${hours.pubkeys[hours.pool[i]]} ${hour}`, hours.feesUsd[i]),
  );
  const volumes = await store.lp.tokenHours(0, toS);
  volumes.hour.forEach((hour, i) =>
    rows.set(`volume ${volumes.addresses[volumes.token[i]]} ${hour}`, volumes.organicVolumeUsd[i]),
  );
  for (const { id, name, revokedAtS } of await store.listKeys()) {
    if (name !== null) rows.set(`key ${name}`, 1);
    if (revokedAtS !== null) rows.set(`revoked ${id}`, 1);
  }
  return rows;
}

async function addDepth(rows: Map<string, number>, store: Store, tokenId: number, address: string) {
  for (;;) {
    try {
      // A plan omits coarse snapshots hidden by finer ones.
      const directory = await store['parts'].directories.get(tokenId);
      const refs = TIERS.flatMap((tier) => directory[tier]);
      const blocks = await store.depth.readSegments(refs.map(({ segmentId }) => segmentId));
      const markets = store.depth.markets(tokenId);
      for (const run of blocks.map(decodeSegment)) {
        if (address === MERGED) {
          addMarkets(rows, run, markets);
          continue;
        }
        run.t.forEach((t, row) => {
          let number = run.priceUsd[row];
          for (let c = run.cellOffsets[row]; c < run.cellOffsets[row + 1]; c++) {
            if (run.supportCents[c] !== number || run.resistanceCents[c] !== number) number = MIXED;
          }
          const name = depthRow(address, t, run.tier);
          rows.set(name, rows.has(name) ? MIXED : number);
        });
      }
      return;
    } catch (error) {
      // Segments were joined in the background in the meantime.
      if (!(error instanceof SegmentGoneError)) throw error;
    }
  }
}

/** Each market of each snapshot: merges add one at a time. */
function addMarkets(rows: Map<string, number>, run: SnapshotRun, markets: readonly Market[]): void {
  run.t.forEach((t, row) => {
    const ofSnapshot = new Map<string, number>();
    for (let c = run.cellOffsets[row]; c < run.cellOffsets[row + 1]; c++) {
      const name = mergedRow(t, markets[run.market[c]].address ?? '');
      const number = run.supportCents[c];
      const isSame =
        run.resistanceCents[c] === number && (ofSnapshot.get(name) ?? number) === number;
      ofSnapshot.set(name, isSame ? number : MIXED);
    }
    for (const [name, number] of ofSnapshot) rows.set(name, rows.has(name) ? MIXED : number);
  });
}

async function addHolders(rows: Map<string, number>, store: Store, address: string) {
  const times = [...(await store.holders.times(address))];
  const { blocks } = await store.holders.read(address, times);
  for (const { t, balance } of blocks.flatMap((block) => decodeHolderBlock(block, times))) {
    const isOne = balance.length === 3 && balance.every((one) => one === balance[0]);
    rows.set(`holders ${address} ${t}`, isOne ? balance[0] : MIXED);
  }
}

/** The rows after an operation. */
export function after(rows: Rows, { brings }: Operation): Map<string, number> {
  const changed = new Map(rows);
  for (const [name, number] of brings) {
    if (number === null) changed.delete(name);
    else changed.set(name, number);
  }
  return changed;
}

/**
 * The rows after retention removed raw depth before a time and made coarser snapshots from it. If it was interrupted, each
 * token is at some step.
 * @param found the stored rows, if it was interrupted
 */
export function afterRetention(rows: Rows, beforeS: number, found?: Rows): Map<string, number> {
  return TOKENS.reduce<Map<string, number>>((left, address) => {
    const reached = found === undefined ? beforeS : (rawTimes(found, address)[0] ?? beforeS);
    return retired(left, address, Math.min(reached, beforeS), ['15m', '1h']);
  }, new Map(rows));
}

/** The rows after a token's raw depth before a time was replaced by coarser snapshots. */
export function retired(
  rows: Rows,
  address: string,
  beforeS: number,
  made: readonly Tier[],
): Map<string, number> {
  const left = new Map(rows);
  const times = rawTimes(rows, address);
  for (const [i, t] of times.entries()) {
    if (t >= beforeS) break;
    const name = depthRow(address, t);
    for (const tier of made) {
      const end = Math.ceil(t / TIER_LENGTH_S[tier]) * TIER_LENGTH_S[tier];
      const coarse = depthRow(address, end, tier);
      const isNewest = i + 1 === times.length || times[i + 1] > end;
      if (isNewest && !rows.has(coarse)) left.set(coarse, rows.get(name) as number);
    }
    left.delete(name);
  }
  return left;
}

/** Ascending. */
function rawTimes(rows: Rows, address: string): number[] {
  const names = [...rows.keys()].map((name) => name.split(' '));
  return names
    .flatMap(([kind, of, t, tier]) =>
      kind === 'depth' && of === address && tier === undefined ? Number(t) : [],
    )
    .sort((a, b) => a - b);
}

/** Descriptions of the rows that differ. */
export function differences(expected: Rows, found: Rows): string[] {
  const names = new Set([...expected.keys(), ...found.keys()]);
  return [...names]
    .filter((name) => !Object.is(expected.get(name), found.get(name)))
    .map(
      (name) =>
        `${name}: expected ${expected.get(name) ?? 'none'}, found ${found.get(name) ?? 'none'}`,
    );
}
