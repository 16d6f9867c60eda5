/** States of pools as snapshots: one layout each for CLMM, DLMM and constant-product pools. */
import {
  MAX_BIN_STEP_BP,
  MAX_DECIMALS,
  MAX_LEVELS_PER_LIST,
  MAX_T_S,
} from '../../compute/ingest/fields.js';
import { canonicalAddress, marketKey } from '../../compute/market.js';
import { InputError } from '../errors.js';
import { readLineBatches } from '../lines.js';
import { JsonFields, parseDecimal, parseJsonObject } from './fields.js';
import { quoteUsdOf } from './quote-prices.js';
import { excerpt } from './refusals.js';
import type { ImportFormat, TokenImport } from './formats.js';

/** Ticks and bins of the token's states, all held in memory: states of one time may be far apart. */
const MAX_HELD_LEVELS = 4_000_000;
const MAX_HELD_STATES = 500_000;
const MAX_BIN_ID = 8_388_608;
/** Characters of the fields that a message lists. */
const MAX_FOUND_CHARS = 120;
/** Fields that only one layout has. */
const FORMAT_OF_FIELD: readonly (readonly [field: string, format: ImportFormat])[] = [
  ['ticks', 'clmm-pools'],
  ['bins', 'dlmm-bins'],
  ['reserve0', 'cp-pairs'],
  ['reserve0_raw', 'cp-pairs'],
];
const Q96 = 2 ** 96;
const INTEGER = /^[0-9]+$/;
const SIGNED_INTEGER = /^-?[0-9]+$/;

/** One side of a pool. */
export interface PoolToken {
  address: string;
  /** Null if nothing names one. */
  symbol: string | null;
  decimals: number;
}

/** The fields that all layouts have. */
interface PoolHead {
  source: string;
  /** The pool's address, `0x` in lower case; null if the file has none. */
  pool: string | null;
  /** Epoch seconds; null if the file has none. */
  t: number | null;
  /** Both sides in the file's order. */
  tokens: readonly [PoolToken, PoolToken];
}

/** A market's body and the price that it implies. */
interface PoolMarketBody {
  /** Price of the token in the other token; not above 0 if the pool has none. */
  price: number;
  body: object;
  /** Ticks or bins in the body. */
  levels: number;
}

/** A layout of pool states, one JSON object per line. */
interface PoolLayout {
  format: ImportFormat;
  /** The fields that name the venue and the two tokens. */
  names: readonly [string, string, string];
  /** Makes the market's body for the token on side `token`. */
  readBody(fields: JsonFields, head: PoolHead, token: 0 | 1, quoteUsd: number): PoolMarketBody;
}

/** The snapshot of one time so far. */
interface PoolSnapshot {
  priceUsd: number;
  markets: object[];
  keys: Set<string>;
}

/**
 * Pool states as snapshots in ascending `t`: states of the token's pools at one time become one snapshot with one
 * market each. A state without a usable price or time, or of a pool that the snapshot already has, is left out and
 * reported.
 */
export async function* importPools(
  layout: PoolLayout,
  request: TokenImport,
): AsyncGenerator<object, void, undefined> {
  const snapshots = new PoolSnapshots(layout, request);
  for (const path of request.files) {
    for await (const lines of readLineBatches(path)) {
      for (const { line, text } of lines) if (text !== '') snapshots.add(`${path}:${line}`, text);
    }
  }
  yield* snapshots.rows();
}

/** @throws InputError if the first state does not have this layout: the file is of another kind */
function checkLayout(fields: JsonFields, { format, names }: PoolLayout): void {
  const { object, where } = fields;
  const foundFormat = FORMAT_OF_FIELD.find(([field]) => field in object)?.[1];
  const isOther = foundFormat !== undefined && foundFormat !== format;
  if (!isOther && names.filter((name) => name in object).length > 1) return;
  const found = excerpt(Object.keys(object).join(', '), MAX_FOUND_CHARS) || 'no field';
  const advice = isOther ? `: import it as ${foundFormat}` : '';
  throw new InputError(
    `${where}: expected a pool state with ${names.join(', ')}, found ${found}${advice}`,
  );
}

class PoolSnapshots {
  private readonly byTime = new Map<number, PoolSnapshot>();
  private levels = 0;
  private states = 0;

  constructor(
    private readonly layout: PoolLayout,
    private readonly request: TokenImport,
  ) {}

  add(where: string, text: string): void {
    const fields = new JsonFields(where, parseJsonObject(text, where));
    if (this.request.report.messages === 0) checkLayout(fields, this.layout);
    const head = readPoolHead(fields, this.layout.names);
    this.request.report.messages++;
    const side = head.tokens.findIndex((token) => token.address === this.request.token.address);
    if (side < 0) return;
    const reason = this.addState(fields, head, side as 0 | 1);
    if (reason !== null)
      this.request.report.leftOut.add({ where, what: head.pool ?? pairOf(head.tokens), reason });
  }

  *rows(): Generator<object, void, undefined> {
    const { chain, address } = this.request.token;
    const times = [...this.byTime.keys()].sort((a, b) => a - b);
    for (const t of times) {
      const { priceUsd, markets } = this.byTime.get(t)!;
      this.byTime.delete(t);
      yield { chain, address, t, tier: 'raw', price_usd: priceUsd, markets };
    }
  }

  /** Adds a state to its time's snapshot. @returns why it could not; null on success */
  private addState(fields: JsonFields, head: PoolHead, side: 0 | 1): string | null {
    const other = head.tokens[1 - side];
    if (other.address === this.request.token.address) return 'both sides are the token';
    const quoteUsd = quoteUsdOf(this.request.options, other.address);
    if (quoteUsd === null) {
      const { address, symbol } = other;
      return `no price for ${symbol ?? 'the other side'}: --quote-usd ${address}=N`;
    }
    const t = head.t ?? this.request.options.atS;
    if (t === undefined) return 'the state has no time: --at TIME';
    const { price, body, levels } = this.layout.readBody(fields, head, side, quoteUsd);
    const priceUsd = price * quoteUsd;
    if (!(priceUsd > 0 && priceUsd < Infinity)) return 'the pool has no price';
    const source = this.request.options.source ?? head.source;
    const market = { source, address: head.pool, pair: pairOf(head.tokens) };
    const snapshot = this.snapshotAt(t, priceUsd);
    const key = marketKey(market);
    if (snapshot.keys.has(key)) {
      return `a second state of the pool at ${t}: the first is kept`;
    }
    snapshot.keys.add(key);
    snapshot.markets.push({ ...market, exchange_type: 'DEX', type: 'onchain_pool', ...body });
    this.countHeld(fields, levels);
    return null;
  }

  private snapshotAt(t: number, priceUsd: number): PoolSnapshot {
    let snapshot = this.byTime.get(t);
    if (snapshot === undefined) {
      snapshot = { priceUsd, markets: [], keys: new Set() };
      this.byTime.set(t, snapshot);
    }
    return snapshot;
  }

  private countHeld(fields: JsonFields, levels: number): void {
    this.levels += levels;
    if (this.levels > MAX_HELD_LEVELS || ++this.states > MAX_HELD_STATES) {
      throw new InputError(
        `${fields.where}: more than ${MAX_HELD_STATES} states or ${MAX_HELD_LEVELS} ticks or bins ` +
          'of the token: import the times apart',
      );
    }
  }
}

export function pairOf(tokens: readonly PoolToken[]): string {
  return tokens.map((token) => token.symbol ?? token.address).join('/');
}

function readPoolHead(fields: JsonFields, names: PoolLayout['names']): PoolHead {
  const pool = fields.textOrNull('pool');
  return {
    source: fields.text(names[0]),
    pool: pool !== null && /^0x[0-9a-f]+$/i.test(pool) ? pool.toLowerCase() : pool,
    t: fields.integerOrNull('t', 1, MAX_T_S),
    tokens: [readToken(fields.child(names[1])), readToken(fields.child(names[2]))],
  };
}

function readToken(fields: JsonFields): PoolToken {
  return {
    address: canonicalAddress(fields.text('address')),
    symbol: fields.textOrNull('symbol'),
    decimals: fields.integer('decimals', 0, MAX_DECIMALS),
  };
}

/** A list of ticks or bins: `[integer id, ...decimal strings]`, ids strictly ascending. */
function readPoolLevels<T>(
  fields: JsonFields,
  field: string,
  amounts: RegExp,
  width: number,
  level: (id: number, amounts: string[]) => T,
): T[] {
  const list = fields.list(field);
  if (list.length > MAX_LEVELS_PER_LIST) {
    throw fields.fault(field, `expected at most ${MAX_LEVELS_PER_LIST} entries`);
  }
  let last = -Infinity;
  return list.map((entry, i) => {
    const [id, ...rest] = Array.isArray(entry) ? (entry as unknown[]) : [];
    const isWhole = rest.length === width && rest.every((amount) => isAmount(amount, amounts));
    if (!Number.isSafeInteger(id) || !isWhole) {
      const expected = `expected an integer and ${width} decimal string(s)`;
      throw fields.fault(`${field}[${i}]`, expected);
    }
    if (!((id as number) > last)) throw fields.fault(`${field}[${i}]`, 'expected ids ascending');
    last = id as number;
    return level(last, rest as string[]);
  });
}

function isAmount(amount: unknown, shape: RegExp): boolean {
  return typeof amount === 'string' && amount.length <= 100 && shape.test(amount);
}

/** Raw units as human units, rounded only once. */
function humanAmount(digits: string, decimals: number): number {
  return parseDecimal(`${digits}e-${decimals}`);
}

/**
 * Concentrated liquidity (Uniswap v3 and v4, PancakeSwap v3, decoded Whirlpools). The ticks determine the liquidity,
 * even if the pool states another figure (`ticks_match_liquidity` false).
 */
export const CLMM_POOLS: PoolLayout = {
  format: 'clmm-pools',
  names: ['protocol', 'token0', 'token1'],
  readBody: (fields, head, token, quoteUsd) => {
    const sqrtPrice = fields.digits('sqrt_price_x96');
    const [decimals0, decimals1] = head.tokens.map((side) => side.decimals);
    const ticks = readPoolLevels(fields, 'ticks', SIGNED_INTEGER, 1, (tick, [net]) => [tick, net]);
    const body = {
      clmm: {
        sqrt_price_x96: sqrtPrice,
        ticks,
        decimals0,
        decimals1,
        token,
        quote_usd: quoteUsd,
      },
    };
    const price0In1 = (Number(sqrtPrice) / Q96) ** 2 * 10 ** (decimals0 - decimals1);
    return { price: token === 0 ? price0In1 : 1 / price0In1, body, levels: ticks.length };
  },
};

/** Liquidity book pools (Trader Joe, Meteora DLMM): bin ids shifted so that id 0 has price 1. */
export const DLMM_BINS: PoolLayout = {
  format: 'dlmm-bins',
  names: ['protocol', 'token_x', 'token_y'],
  readBody: (fields, head, token, quoteUsd) => {
    const [x, y] = head.tokens.map((side) => side.decimals);
    const binStep = fields.integer('bin_step', 1, MAX_BIN_STEP_BP);
    const activeId = fields.integer('active_id', -MAX_BIN_ID, MAX_BIN_ID);
    const bins = readPoolLevels(fields, 'bins', INTEGER, 2, (id, [amountX, amountY]) => [
      id,
      humanAmount(amountX, x),
      humanAmount(amountY, y),
    ]);
    const body = {
      dlmm: {
        bin_step: binStep,
        active_id: activeId,
        bins,
        decimals_x: x,
        decimals_y: y,
        token: token === 0 ? 'x' : 'y',
        quote_usd: quoteUsd,
      },
    };
    const priceXInY = (1 + binStep / 10_000) ** activeId * 10 ** (x - y);
    return { price: token === 0 ? priceXInY : 1 / priceXInY, body, levels: bins.length };
  },
};

/** Constant-product pairs (Uniswap v2), reserves in human (`reserve0`) or raw units (`_raw`). */
export const CP_PAIRS: PoolLayout = {
  format: 'cp-pairs',
  names: ['venue', 'token0', 'token1'],
  readBody: (fields, head, token, quoteUsd) => {
    const reserves = [0, 1].map((side) =>
      readReserve(fields, `reserve${side}`, head.tokens[side].decimals),
    );
    const [reserveToken, reserveQuote] = token === 0 ? reserves : reserves.reverse();
    const body = {
      constant_product: {
        reserve_token: reserveToken,
        reserve_quote: reserveQuote,
        quote_usd: quoteUsd,
      },
    };
    return { price: reserveQuote / reserveToken, body, levels: 2 };
  },
};

function readReserve(fields: JsonFields, field: string, decimals: number): number {
  if (fields.has(`${field}_raw`)) return humanAmount(fields.digits(`${field}_raw`), decimals);
  const reserve = parseDecimal(fields.text(field));
  if (Number.isNaN(reserve)) throw fields.fault(field, 'expected a number of at least 0');
  return reserve;
}
