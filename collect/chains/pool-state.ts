/** The state of a pool as a market of the dataset `snapshots`. */
import { canonicalAddress } from '../../compute/market.js';
import { JsonFields } from '../../storage/import/fields.js';
import {
  CLMM_POOLS,
  CP_PAIRS,
  DLMM_BINS,
  pairOf,
  type PoolToken,
} from '../../storage/import/pool-states.js';

/** The layouts of `fathom import` with these fields beside the sides. */
const POOL_LAYOUTS = {
  clmm: CLMM_POOLS,
  dlmm: DLMM_BINS,
  constantProduct: CP_PAIRS,
} as const;

/** A pool at a block or slot. */
export interface PoolState {
  layout: keyof typeof POOL_LAYOUTS;
  /** Token 0 and 1, A and B, or X and Y. */
  sides: readonly [PoolToken, PoolToken];
  /** What the layout reads, in raw units. */
  fields: Readonly<Record<string, unknown>>;
}

/** A pool as seen from one of its tokens. */
export interface PoolView {
  /** Price of the token in the other one. */
  price: number;
  pair: string;
  quote: PoolToken;
  /** The market's body where the other token has this USD price. */
  body(quoteUsd: number): object;
}

/**
 * @param where names the pool in faults
 * @returns the reason if the pool cannot be seen from the token
 */
export function viewOf(state: PoolState, where: string, token: string): PoolView | string {
  const side = state.sides.findIndex(({ address }) => canonicalAddress(address) === token);
  if (side < 0) return `${where}: holds ${state.sides.map(named).join(' and ')}, not ${token}`;
  const layout = POOL_LAYOUTS[state.layout];
  const head = { source: where, pool: where, t: null, tokens: state.sides };
  const read = (quoteUsd: number) =>
    layout.readBody(new JsonFields(where, state.fields), head, side as 0 | 1, quoteUsd);
  const { price, levels, body } = read(1);
  if (!(price > 0 && price < Infinity)) return `${where}: has no price`;
  if (levels === 0) return `${where}: holds nothing within the ladder: its price means nothing`;
  return {
    price,
    pair: pairOf(state.sides),
    quote: state.sides[1 - side],
    body: (quoteUsd) => (quoteUsd === 1 ? body : read(quoteUsd).body),
  };
}

const named = ({ symbol, address }: PoolToken): string =>
  symbol === null ? address : `${symbol} (${address})`;
