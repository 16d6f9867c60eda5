/** What one row may hold (data.md sets none of these; each guards memory or arithmetic). */

/** USD; prices outside would make the edges of the ladder's bins zero, subnormal or infinite. */
export const MIN_PRICE_USD = 1e-300;
export const MAX_PRICE_USD = 1e300;
/** Epoch seconds that the `t` column holds (32 bits, year 2106). */
export const MAX_T_S = 4_294_967_295;
/** Characters (UTF-16 units) of a venue's name. */
export const MAX_SOURCE_CHARS = 200;
/** Characters of a market's address or pair. */
export const MAX_MARKET_NAME_CHARS = 200;
/** Levels of one side of a book, ticks of a pool, bins of a pool, cells of a market. */
export const MAX_LEVELS_PER_LIST = 1_000_000;
/** Decimals of a token. */
export const MAX_DECIMALS = 36;
/** Uniswap v3's TickMath.MAX_TICK; the lowest tick is its negative. */
export const MAX_TICK = 887_272;
/** Basis points. */
export const MAX_BIN_STEP_BP = 10_000;
