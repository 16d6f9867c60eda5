/** Which tokens are the quote side of a pool. */
import { chainOfAddress } from '../../compute/market.js';
import { UsageError } from '../../storage/errors.js';
import { defaultQuoteTokens } from '../lp/quote-tokens.js';

const MAX_QUOTE_TOKENS = 100;

/**
 * Mints, the one that is quote before all others first.
 * @throws UsageError naming where a bad value came from
 */
export function quoteTokens(
  setting: { value: string; from: string } | null,
  nativeMint: string,
): readonly string[] {
  if (setting === null) return defaultQuoteTokens(nativeMint);
  const { value, from } = setting;
  const mints = value.split(',').map((mint) => mint.trim());
  const wrong = mints.find((mint) => chainOfAddress(mint) !== 'mainchain');
  if (wrong !== undefined) {
    throw new UsageError(`${from}: expected base58 mints with commas between, not '${wrong}'`);
  }
  if (new Set(mints).size < mints.length) {
    throw new UsageError(`${from}: expected each mint once`);
  }
  if (mints.length > MAX_QUOTE_TOKENS) {
    throw new UsageError(
      `${from}: expected at most ${MAX_QUOTE_TOKENS} mints, not ${mints.length}`,
    );
  }
  return mints;
}
