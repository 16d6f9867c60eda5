/**
 * Accounts of Solana's programs, written field by field from the structs that the programs publish. Offsets follow from
 * the fields' types: nothing is shared with the readers that are tested.
 */
import { createHash } from 'node:crypto';

type Type = 'u8' | 'u16' | 'u32' | 'i32' | 'u64' | 'i64' | 'u128' | 'i128' | 'key' | number;
/** Names and types in order; a number is that many bytes. */
export type Struct = readonly (readonly [name: string, type: Type])[];
export type Values = Readonly<Record<string, number | bigint | string | Uint8Array>>;

const BYTES = { u8: 1, u16: 2, u32: 4, i32: 4, u64: 8, i64: 8, u128: 16, i128: 16, key: 32 };

/** Base58 by long division, digit by digit. */
export function decodeKey(text: string): Uint8Array {
  const digits = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
  const bytes = new Uint8Array(32);
  for (const character of text) {
    let carry = digits.indexOf(character);
    for (let i = 31; i >= 0; i--) {
      carry += bytes[i] * 58;
      bytes[i] = carry % 256;
      carry = Math.floor(carry / 256);
    }
  }
  return bytes;
}

function encode(type: Type, value: Values[string]): Uint8Array {
  const bytes = new Uint8Array(typeof type === 'number' ? type : BYTES[type]);
  if (value instanceof Uint8Array) bytes.set(value);
  else if (typeof value === 'string') bytes.set(decodeKey(value));
  else {
    let rest = BigInt.asUintN(bytes.length * 8, BigInt(value));
    for (let i = 0; i < bytes.length; i++, rest >>= 8n) bytes[i] = Number(rest & 255n);
  }
  return bytes;
}

/** Fields that have no value are filled with a pattern, so that a reader of the wrong place is seen. */
export function pack(struct: Struct, values: Values, name?: string): Buffer {
  const unknown = Object.keys(values).filter((key) => struct.every(([field]) => field !== key));
  if (unknown.length > 0) throw new Error(`no field ${unknown.join(', ')}`);
  const parts = struct.map(([field, type], i) =>
    field in values
      ? encode(type, values[field])
      : new Uint8Array(typeof type === 'number' ? type : BYTES[type]).fill(0xa0 + (i % 32)),
  );
  const head =
    name === undefined
      ? []
      : [createHash('sha256').update(`account:${name}`).digest().subarray(0, 8)];
  return Buffer.concat([...head, ...parts]);
}

/** Base58 by repeated division of the whole number. */
function encodeKey(bytes: Uint8Array): string {
  const digits = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
  let rest = [...bytes].reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  let text = '';
  for (; rest > 0n; rest /= 58n) text = digits[Number(rest % 58n)] + text;
  return text.padStart(text.length + [...bytes].findIndex((byte) => byte > 0), '1');
}

/** The fields of an account, which must be as long as its struct. @param name its type's, if it begins with that */
export function unpack(
  struct: Struct,
  account: Uint8Array,
  name?: string,
): Record<string, bigint | string | Uint8Array> {
  const head = name === undefined ? 0 : 8;
  const hash = createHash('sha256').update(`account:${name}`).digest();
  if (Buffer.compare(account.subarray(0, head), hash.subarray(0, head)) !== 0) {
    throw new Error(`no ${name}`);
  }
  const values: Record<string, bigint | string | Uint8Array> = {};
  let at = head;
  for (const [field, type] of struct) {
    const bytes = account.subarray(at, (at += typeof type === 'number' ? type : BYTES[type]));
    if (typeof type === 'number') values[field] = bytes;
    else if (type === 'key') values[field] = encodeKey(bytes);
    else {
      const value = [...bytes].reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n);
      values[field] = type.startsWith('i') ? BigInt.asIntN(8 * bytes.length, value) : value;
    }
  }
  if (at !== account.length) throw new Error(`${account.length} bytes, not ${at}`);
  return values;
}

export const WHIRLPOOL: Struct = [
  ['whirlpools_config', 'key'],
  ['whirlpool_bump', 1],
  ['tick_spacing', 'u16'],
  ['fee_tier_index_seed', 2],
  ['fee_rate', 'u16'],
  ['protocol_fee_rate', 'u16'],
  ['liquidity', 'u128'],
  ['sqrt_price', 'u128'],
  ['tick_current_index', 'i32'],
  ['protocol_fee_owed_a', 'u64'],
  ['protocol_fee_owed_b', 'u64'],
  ['token_mint_a', 'key'],
  ['token_vault_a', 'key'],
  ['fee_growth_global_a', 'u128'],
  ['token_mint_b', 'key'],
  ['token_vault_b', 'key'],
  ['fee_growth_global_b', 'u128'],
  ['reward_last_updated_timestamp', 'u64'],
  ['reward_infos', 384],
];

export const WHIRLPOOL_TICK: Struct = [
  ['initialized', 'u8'],
  ['liquidity_net', 'i128'],
  ['liquidity_gross', 'u128'],
  ['fee_growth_outside_a', 'u128'],
  ['fee_growth_outside_b', 'u128'],
  ['reward_growths_outside', 48],
];

export const RAYDIUM_POOL: Struct = [
  ['bump', 1],
  ['amm_config', 'key'],
  ['owner', 'key'],
  ['token_mint_0', 'key'],
  ['token_mint_1', 'key'],
  ['token_vault_0', 'key'],
  ['token_vault_1', 'key'],
  ['observation_key', 'key'],
  ['mint_decimals_0', 'u8'],
  ['mint_decimals_1', 'u8'],
  ['tick_spacing', 'u16'],
  ['liquidity', 'u128'],
  ['sqrt_price_x64', 'u128'],
  ['tick_current', 'i32'],
  ['observation_index', 'u16'],
  ['observation_update_duration', 'u16'],
  ['fee_growth_global_0_x64', 'u128'],
  ['fee_growth_global_1_x64', 'u128'],
  ['protocol_fees_token_0', 'u64'],
  ['protocol_fees_token_1', 'u64'],
  ['swap_in_amount_token_0', 'u128'],
  ['swap_out_amount_token_1', 'u128'],
  ['swap_in_amount_token_1', 'u128'],
  ['swap_out_amount_token_0', 'u128'],
  ['status', 'u8'],
  ['padding', 7],
  ['reward_infos', 3 * 169],
  ['tick_array_bitmap', 128],
  ['rest', 512],
];

export const RAYDIUM_TICK: Struct = [
  ['tick', 'i32'],
  ['liquidity_net', 'i128'],
  ['liquidity_gross', 'u128'],
  ['fee_growth_outside_0_x64', 'u128'],
  ['fee_growth_outside_1_x64', 'u128'],
  ['reward_growths_outside_x64', 48],
  ['order_phase', 'u64'],
  ['orders_amount', 'u64'],
  ['part_filled_orders_remaining', 'u64'],
  ['unfilled_ratio_x64', 'u128'],
  ['padding', 12],
];

export const LB_PAIR: Struct = [
  ['static_parameters', 32],
  ['variable_parameters', 32],
  ['bump_seed', 1],
  ['bin_step_seed', 2],
  ['pair_type', 'u8'],
  ['active_id', 'i32'],
  ['bin_step', 'u16'],
  ['status', 'u8'],
  ['require_base_factor_seed', 'u8'],
  ['base_factor_seed', 2],
  ['activation_type', 'u8'],
  ['creator_pool_on_off_control', 'u8'],
  ['token_x_mint', 'key'],
  ['token_y_mint', 'key'],
  ['reserve_x', 'key'],
  ['reserve_y', 'key'],
  ['rest', 904 - 216],
];

export const BIN: Struct = [
  ['amount_x', 'u64'],
  ['amount_y', 'u64'],
  ['price', 'u128'],
  ['liquidity_supply', 'u128'],
  ['reward_per_token_stored', 32],
  ['fee_amount_x_per_token_stored', 'u128'],
  ['fee_amount_y_per_token_stored', 'u128'],
  ['amount_x_in', 'u128'],
  ['amount_y_in', 'u128'],
];

export const CPMM_POOL: Struct = [
  ['amm_config', 'key'],
  ['pool_creator', 'key'],
  ['token_0_vault', 'key'],
  ['token_1_vault', 'key'],
  ['lp_mint', 'key'],
  ['token_0_mint', 'key'],
  ['token_1_mint', 'key'],
  ['token_0_program', 'key'],
  ['token_1_program', 'key'],
  ['observation_key', 'key'],
  ['auth_bump', 'u8'],
  ['status', 'u8'],
  ['lp_mint_decimals', 'u8'],
  ['mint_0_decimals', 'u8'],
  ['mint_1_decimals', 'u8'],
  ['lp_supply', 'u64'],
  ['protocol_fees_token_0', 'u64'],
  ['protocol_fees_token_1', 'u64'],
  ['fund_fees_token_0', 'u64'],
  ['fund_fees_token_1', 'u64'],
  ['open_time', 'u64'],
  ['recent_epoch', 'u64'],
  ['creator_fee_on', 'u8'],
  ['enable_creator_fee', 'u8'],
  ['padding1', 6],
  ['creator_fees_token_0', 'u64'],
  ['creator_fees_token_1', 'u64'],
  ['padding', 8 * 28],
];

const u64s = (...names: string[]): Struct => names.map((name) => [name, 'u64'] as const);

/** Without a type's name at its beginning. */
export const RAYDIUM_AMM: Struct = [
  ...u64s('status', 'nonce', 'max_order', 'depth', 'base_decimal', 'quote_decimal', 'state'),
  ...u64s('reset_flag', 'min_size', 'vol_max_cut_ratio', 'amount_wave', 'base_lot', 'quote_lot'),
  ...u64s('min_price_multiplier', 'max_price_multiplier', 'system_decimal_value'),
  ['fees', 64],
  ...u64s('base_need_take_pnl', 'quote_need_take_pnl', 'quote_total_pnl', 'base_total_pnl'),
  ...u64s('pool_open_time', 'punish_pc_amount', 'punish_coin_amount', 'orderbook_to_init_time'),
  ['swap_base_in_amount', 'u128'],
  ['swap_quote_out_amount', 'u128'],
  ['swap_base_2_quote_fee', 'u64'],
  ['swap_quote_in_amount', 'u128'],
  ['swap_base_out_amount', 'u128'],
  ['swap_quote_2_base_fee', 'u64'],
  ['base_vault', 'key'],
  ['quote_vault', 'key'],
  ['base_mint', 'key'],
  ['quote_mint', 'key'],
  ['lp_mint', 'key'],
  ['open_orders', 'key'],
  ['market_id', 'key'],
  ['market_program_id', 'key'],
  ['target_orders', 'key'],
  ['withdraw_queue', 'key'],
  ['lp_vault', 'key'],
  ['owner', 'key'],
  ['lp_reserve', 'u64'],
  ['padding', 24],
];

export const MINT: Struct = [
  ['mint_authority', 36],
  ['supply', 'u64'],
  ['decimals', 'u8'],
  ['is_initialized', 'u8'],
  ['freeze_authority', 36],
];

export const TOKEN_ACCOUNT: Struct = [
  ['mint', 'key'],
  ['owner', 'key'],
  ['amount', 'u64'],
  ['rest', 93],
];

export const CLOCK: Struct = [
  ['slot', 'u64'],
  ['epoch_start_timestamp', 'i64'],
  ['epoch', 'u64'],
  ['leader_schedule_epoch', 'u64'],
  ['unix_timestamp', 'i64'],
];

const text = (value: string, bytes: number) => {
  const padded = Buffer.alloc(4 + bytes);
  padded.writeUInt32LE(bytes);
  padded.write(value, 4);
  return padded;
};

/** The account of the token metadata program. */
export function packMetadata(mint: string, symbol: string): Buffer {
  const head: Struct = [
    ['key', 'u8'],
    ['update_authority', 'key'],
    ['mint', 'key'],
  ];
  const names = [text('A name', 32), text(symbol, 10), text('https://', 200)];
  return Buffer.concat([pack(head, { key: 4, mint }), ...names, Buffer.alloc(300)]);
}

type Net = readonly [tick: number, net: bigint];

/** An array of 88 ticks of a Whirlpool, of either kind. */
export function packWhirlpoolArray(
  kind: 'fixed' | 'dynamic',
  { pool, start, spacing }: { pool: string; start: number; spacing: number },
  nets: readonly Net[],
): Buffer {
  const ticks = Array.from({ length: 88 }, (_, i) => {
    const net = nets.find(([tick]) => tick === start + i * spacing)?.[1];
    if (net !== undefined) return pack(WHIRLPOOL_TICK, { initialized: 1, liquidity_net: net });
    return Buffer.alloc(kind === 'fixed' ? 113 : 1);
  });
  if (kind === 'fixed') {
    const head = pack([['start_tick_index', 'i32']], { start_tick_index: start }, 'TickArray');
    return Buffer.concat([head, ...ticks, decodeKey(pool)]);
  }
  const bitmap = ticks.reduce(
    (bits, { length }, i) => bits | (BigInt(length > 1) << BigInt(i)),
    0n,
  );
  const head: Struct = [
    ['start_tick_index', 'i32'],
    ['whirlpool', 'key'],
    ['tick_bitmap', 'u128'],
  ];
  const values = { start_tick_index: start, whirlpool: pool, tick_bitmap: bitmap };
  return Buffer.concat([pack(head, values, 'DynamicTickArray'), ...ticks]);
}

/** An array of 60 ticks of Raydium. A tick that only holds limit orders has no liquidity. */
export function packRaydiumArray(
  { pool, start, spacing }: { pool: string; start: number; spacing: number },
  nets: readonly Net[],
): Buffer {
  const head: Struct = [
    ['pool_id', 'key'],
    ['start_tick_index', 'i32'],
  ];
  const ticks = Array.from({ length: 60 }, (_, i) => {
    const tick = start + i * spacing;
    const net = nets.find(([at]) => at === tick)?.[1];
    const [gross, orders] = net === undefined ? [0, i % 2] : [5, 0];
    const values = {
      tick,
      liquidity_net: net ?? 0n,
      liquidity_gross: gross,
      orders_amount: orders,
    };
    return pack(RAYDIUM_TICK, values);
  });
  const tail = Buffer.alloc(1 + 8 + 107);
  const first = pack(head, { pool_id: pool, start_tick_index: start }, 'TickArrayState');
  return Buffer.concat([first, ...ticks, tail]);
}

/** An array of 70 bins of Meteora. */
export function packBinArray(
  { pool, index }: { pool: string; index: number },
  bins: readonly (readonly [id: number, x: bigint, y: bigint])[],
): Buffer {
  const head: Struct = [
    ['index', 'i64'],
    ['version', 'u8'],
    ['padding', 7],
    ['lb_pair', 'key'],
  ];
  const packed = Array.from({ length: 70 }, (_, i) => {
    const [, x, y] = bins.find(([id]) => id === index * 70 + i) ?? [0, 0n, 0n];
    return pack(BIN, { amount_x: x, amount_y: y });
  });
  return Buffer.concat([pack(head, { index, lb_pair: pool }, 'BinArray'), ...packed]);
}
