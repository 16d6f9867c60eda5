/** Random rows of the datasets other than depth. Each row of a file has the file's number in one of its fields. */
import type { Dataset } from '../../storage/ingest/datasets.js';
import type { Below } from './depth-rows.js';
import { HOUR, HOUR_S, TOKENS } from './times.js';

type OtherDataset = Exclude<Dataset, 'snapshots' | 'cells' | 'levels'>;

/** Rows by the names that the model gives them; a snapshot of holders is several rows. */
export function flatRowsOf(
  dataset: OtherDataset,
  n: number,
  below: Below,
): { name: string; row: object | object[] }[] {
  const address = (): string => TOKENS[below(TOKENS.length)];
  const some = (most: number, of: number): number[] => [
    ...new Set(Array.from({ length: 1 + below(most) }, () => below(of))),
  ];
  const chain = 'mainchain';
  switch (dataset) {
    case 'tokens':
      return some(TOKENS.length, TOKENS.length).map((i) => ({
        name: `token ${TOKENS[i]}`,
        row: { chain, address: TOKENS[i], symbol: `S${n}`, coverage: 'full' },
      }));
    case 'holders': {
      const token = address();
      return some(4, 4).map((i) => {
        const t = (HOUR - i) * HOUR_S;
        const owners = ['one', 'two', 'three'];
        const held = owners.map((owner) => ({ token_address: token, t, owner, balance: n }));
        return { name: `holders ${token} ${t}`, row: held };
      });
    }
    case 'dca_orders':
      return some(60, 200).map((i) => ({
        name: `dca dca-${i}`,
        row: {
          dca_address: `dca-${i}`,
          token_address: address(),
          direction: 'BUY',
          paired_symbol: 'USDC',
          deposited_usd: 1e9,
          remaining_usd: n,
          cycle_usd: 1,
          cycle_frequency: 300,
          next_cycle_at: HOUR * HOUR_S,
          closed: false,
        },
      }));
    case 'limit_orders':
      return some(60, 200).map((i) => ({
        name: `limit order-${i}`,
        row: {
          order_address: `order-${i}`,
          chain,
          token_address: address(),
          direction: 'SELL',
          platform: 'p',
          paired_symbol: 'USDC',
          maker: TOKENS[0],
          usd_price: 1,
          remaining_usd: n,
          pct_complete: 0,
          created_at: 1,
          closed: false,
        },
      }));
    case 'dlmm_pools':
      return some(20, 40).map((i) => ({
        name: `pool pool-${i}`,
        row: {
          pubkey: `pool-${i}`,
          bin_step: 80,
          active_id: 1,
          token_x_mint: TOKENS[0],
          token_y_mint: TOKENS[1],
          token_x_decimals: 9,
          token_y_decimals: 6,
          reserve_x: n,
          reserve_y: 1,
          base_fee_pct: 1,
          dynamic_fee_pct: 1,
          num_positions: 1,
          num_wallets: 1,
        },
      }));
    case 'dlmm_hours':
      return some(60, 200).map((i) => ({
        name: `hour pool-${i % 10} ${(HOUR - Math.floor(i / 10)) * HOUR_S}`,
        row: {
          pubkey: `pool-${i % 10}`,
          hour: (HOUR - Math.floor(i / 10)) * HOUR_S,
          fees_usd: n,
          volume_usd: 1,
          tvl_usd: 1,
        },
      }));
    case 'token_hours':
      return some(40, 80).map((i) => {
        const hour = (HOUR - Math.floor(i / TOKENS.length)) * HOUR_S;
        const token = TOKENS[i % TOKENS.length];
        const row = { chain, address: token, hour, organic_volume_usd: n };
        return { name: `volume ${token} ${hour}`, row };
      });
  }
}
