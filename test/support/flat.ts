/** Rows of the flat datasets, and what a store holds of them. */
import type { FlatDataset, StoreChange } from '../../storage/contract.js';
import { prepareTable } from '../../storage/ingest/tables.js';
import type { Store } from '../../storage/store.js';
import { EVM_TOKEN, MINT } from './stores.js';
import type { Json } from './tables.js';

export const HOUR = 498_600 * 3600;

export const noChange = (): StoreChange => ({
  tokenIds: [],
  dcaTokens: [],
  limitTokens: [],
  holderTokens: [],
  dlmmPools: false,
  dlmmHours: false,
  tokenHours: false,
});

export const dcaRow = (more: Json = {}): Json => ({
  dca_address: 'dca-1',
  token_address: MINT,
  direction: 'BUY',
  paired_symbol: 'USDC',
  deposited_usd: 1000,
  remaining_usd: 1e3 / 3,
  cycle_usd: 10,
  cycle_frequency: 300,
  next_cycle_at: 1_794_659_700,
  min_usd: null,
  max_usd: 2.5,
  closed: false,
  ...more,
});

export const limitRow = (more: Json = {}): Json => ({
  order_address: 'order-1',
  chain: 'evmchain',
  token_address: EVM_TOKEN,
  direction: 'SELL',
  platform: 'uniswapx, "v2"',
  paired_symbol: 'ETH',
  maker: '0x00000000000000000000000000000000000000bb',
  usd_price: 1e-7,
  remaining_usd: 25.5,
  pct_complete: 0.25,
  created_at: 1_794_000_000,
  closed: false,
  ...more,
});

export const poolRow = (more: Json = {}): Json => ({
  pubkey: 'pool-1',
  bin_step: 80,
  active_id: -524,
  token_x_mint: MINT,
  token_y_mint: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
  token_x_decimals: 9,
  token_y_decimals: 6,
  reserve_x: 1e10 / 3,
  reserve_y: 0,
  base_fee_pct: 0.8,
  dynamic_fee_pct: 1.25,
  num_positions: 145,
  num_wallets: 0,
  ...more,
});

export const poolHourRow = (more: Json = {}): Json => ({
  pubkey: 'pool-1',
  hour: HOUR,
  fees_usd: 5.5,
  volume_usd: 1e6 / 3,
  tvl_usd: 0,
  ...more,
});

export const tokenHourRow = (more: Json = {}): Json => ({
  chain: 'mainchain',
  address: MINT,
  hour: HOUR,
  organic_volume_usd: 1e5 / 3,
  ...more,
});

/** One row of each dataset. */
export const FLAT_ROWS: Readonly<Record<FlatDataset, (more?: Json) => Json>> = {
  dca_orders: dcaRow,
  limit_orders: limitRow,
  dlmm_pools: poolRow,
  dlmm_hours: poolHourRow,
  token_hours: tokenHourRow,
};

/** Commits rows as ingest does. */
export async function commitFlat(
  store: Store,
  dataset: FlatDataset,
  rows: readonly Json[],
  { rehearse = false } = {},
): Promise<void> {
  const { bundle } = await prepareTable(
    { directory: store.directory, file: 'test.ndjson', mode: 'replace' },
    dataset,
    [rows.map((row, i) => ({ line: i + 1, row }))],
  );
  try {
    await (rehearse ? store.rehearse(bundle.name) : store.commit(bundle.name));
  } finally {
    await bundle.discard();
  }
}

export async function collected<T>(chunks: AsyncIterable<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for await (const chunk of chunks) all.push(...chunk);
  return all;
}

const sortedBy = <T>(rows: T[], key: (row: T) => string): T[] =>
  rows.sort((a, b) => (key(a) < key(b) ? -1 : 1));

/** Everything that readers see of the flat datasets, each in the order of its keys. */
export async function flatContents({ orders, lp }: Store) {
  const hours = await lp.dlmmHours(0, 2 ** 32 - 1);
  const tokens = await lp.tokenHours(0, 2 ** 32 - 1);
  return {
    dca: sortedBy(await collected(orders.dca.all()), (row) => row.dcaAddress),
    limit: sortedBy(await collected(orders.limit.all()), (row) => row.orderAddress),
    pools: sortedBy(await lp.dlmmPools(), (row) => row.pubkey),
    hours: sortedBy(
      Array.from(hours.hour, (hour, i) => ({
        key: `${hours.pubkeys[hours.pool[i]]} ${hour}`,
        values: [hours.feesUsd[i], hours.volumeUsd[i], hours.tvlUsd[i]],
      })),
      ({ key }) => key,
    ),
    tokenHours: sortedBy(
      Array.from(tokens.hour, (hour, i) => ({
        key: `${tokens.addresses[tokens.token[i]]} ${hour}`,
        values: [tokens.organicVolumeUsd[i]],
      })),
      ({ key }) => key,
    ),
  };
}
export type FlatContents = Awaited<ReturnType<typeof flatContents>>;
