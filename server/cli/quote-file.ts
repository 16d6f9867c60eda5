/** The file of `--quote-usd-file`: USD prices of many tokens. */
import { canonicalAddress, chainOfAddress } from '../../compute/market.js';
import { InputError } from '../../storage/errors.js';
import { parseDecimal } from '../../storage/import/fields.js';
import { excerpt } from '../../storage/import/refusals.js';
import { readLineBatches } from '../../storage/lines.js';

/** Prices in one file. */
const MAX_PRICES = 1_000_000;
const HEADER = /^\s*address\s*,\s*usd\s*$/i;

/**
 * Prices by canonical address from lines `address,usd`. Blank lines and a header of these names are skipped.
 * @throws InputError `file:line: what`
 */
export async function readQuoteFile(path: string): Promise<Map<string, number>> {
  const prices = new Map<string, number>();
  for await (const lines of readLineBatches(path)) {
    for (const { line, text } of lines) {
      if (text.trim() === '' || (line === 1 && HEADER.test(text))) continue;
      const [address, usd, ...more] = text.split(',').map((part) => part.trim());
      const price = parseDecimal(usd ?? '');
      if (chainOfAddress(address) === null || !(price > 0) || more.length > 0) {
        throw new InputError(
          `${path}:${line}: expected ADDRESS,USD with a price above 0, found '${excerpt(text)}'`,
        );
      }
      const key = canonicalAddress(address);
      if (prices.has(key)) throw new InputError(`${path}:${line}: ${address} is given twice`);
      if (prices.size === MAX_PRICES) {
        throw new InputError(`${path}:${line}: more than ${MAX_PRICES} prices`);
      }
      prices.set(key, price);
    }
  }
  return prices;
}
