/** Holders and orders as NDJSON, and what of them a store holds. */
import { base58Address, hash, keyOf, normal } from '../../compute/demo/hash.js';
import { decodeHolderBlock } from '../../compute/holders/block-decoder.js';
import type { Store } from '../../storage/store.js';
import { benchOrders } from '../data/orders.js';
import { BENCH_SEED, benchAddress, START_S } from '../data/pages.js';
import { TextFile } from './depth-lines.js';
import type { Contents, Written } from './inputs.js';

/** Owners of one snapshot; every day's has the same ones with other balances. */
const OWNERS = 5_000;
/** Daily snapshots of one token at most. */
const DAYS = 30;
const DAY_S = 86_400;

export function holderLines(file: string, wanted: number): Written {
  const out = new TextFile(file);
  const owners = Array.from({ length: Math.min(OWNERS, wanted) }, (_, i) =>
    base58Address(`bench owner ${i}`),
  );
  const snapshots = Math.max(1, Math.round(wanted / owners.length));
  for (let s = 0; s < snapshots; s++) {
    const token = Math.floor(s / DAYS);
    const head = { token_address: benchAddress(token), t: START_S - (DAYS - (s % DAYS)) * DAY_S };
    const key = hash(keyOf(BENCH_SEED, 'holders'), token);
    owners.forEach((owner, i) => {
      const changed = hash(key, i) % DAYS === s % DAYS ? s : 0;
      const balance =
        Math.round(1e6 * Math.exp(2 * normal(hash(hash(key, i), changed)))) / 1000 + 1;
      out.write(`${JSON.stringify({ ...head, owner, balance })}\n`);
    });
  }
  out.close();
  const rows = snapshots * owners.length;
  return { rows, cells: 0, tokens: Math.ceil(snapshots / DAYS), items: rows };
}

/** The rows that each token's stored snapshots hold. */
export async function countHolders(store: Store): Promise<Contents> {
  let tokens = 0;
  let items = 0;
  for (;;) {
    const address = benchAddress(tokens);
    const times = Array.from(await store.holders.times(address));
    if (times.length === 0) return { tokens, items };
    const { blocks } = await store.holders.read(address, times);
    for (const block of blocks) {
      for (const { owner } of decodeHolderBlock(block, times)) items += owner.length;
    }
    tokens++;
  }
}

export function orderLines(file: string, wanted: number): Written {
  const out = new TextFile(file);
  let rows = 0;
  for (let token = 0; rows < wanted; token++) {
    for (const order of benchOrders(token).slice(0, wanted - rows)) {
      const { minUsd: a, maxUsd: b } = order;
      const range = a === null || b === null ? [null, null] : [Math.min(a, b), Math.max(a, b)];
      const row = {
        ...{ dca_address: order.dcaAddress, token_address: order.tokenAddress },
        ...{ direction: order.direction, paired_symbol: order.pairedSymbol },
        ...{ deposited_usd: order.depositedUsd, remaining_usd: order.remainingUsd },
        ...{ cycle_usd: order.cycleUsd, cycle_frequency: order.cycleFrequencyS },
        ...{ next_cycle_at: order.nextCycleAtS, min_usd: range[0], max_usd: range[1] },
      };
      out.write(`${JSON.stringify(row)}\n`);
      rows++;
    }
  }
  out.close();
  return { rows, cells: 0, tokens: 0, items: rows };
}

export async function countOrders(store: Store): Promise<number> {
  let orders = 0;
  for await (const some of store.orders.allDcaOrders()) orders += some.length;
  return orders;
}
