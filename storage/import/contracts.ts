/** Markets that are known to quote sizes in contracts instead of units of the coin. */
import { InputError } from '../errors.js';

/** How the markets of an exchange quote sizes in contracts. */
interface ContractRule {
  /** Which symbols are such markets; if missing, all of the exchange are. */
  symbols?: RegExp;
  /** What a contract is worth, if all are worth the same. */
  worth?: string;
}

/** Symbols `BTCUSD` and `BTCUSDM24`, but neither `BTCUSDT` nor `BTCPERP`. */
const COIN_SETTLED = /^[A-Z0-9]+USD([FGHJKMNQUVXZ][0-9]{2})?$/;
const ONE_USD = '1 USD each';

/** Kraken Futures: perpetual and dated inverse contracts; PF_ and FF_ are linear, in coins. */
const KRAKEN_INVERSE: ContractRule = { symbols: /^(PI|FI)_/i, worth: ONE_USD };

/** By the exchange's name as Tardis, the Binance feeds or `collect` give it. */
const RULES: Readonly<Record<string, ContractRule>> = {
  'binance-delivery': { worth: '100 USD each for BTC, 10 USD for other coins' },
  bitmex: { worth: '1 USD each for XBTUSD; other symbols differ' },
  'bitmex-spot': {},
  bybit: { symbols: COIN_SETTLED, worth: ONE_USD },
  cryptofacilities: KRAKEN_INVERSE,
  // Perpetual and dated; BTC_USDC-PERPETUAL is linear, options are in coins.
  deribit: { symbols: /^[A-Z0-9]+-(PERPETUAL|[0-9]{1,2}[A-Z]{3}[0-9]{2})$/, worth: ONE_USD },
  'gate-io-futures': {},
  'huobi-dm': {},
  'huobi-dm-linear-swap': {},
  'huobi-dm-swap': {},
  'kraken-futures': KRAKEN_INVERSE,
  'kucoin-futures': {},
  'okx-perp': {},
  'okex-futures': {},
  'okex-swap': {},
};

/** @throws InputError if a market's sizes are contracts, whose worth only the user knows */
export function checkContracts(
  where: string,
  market: { source: string; pair: string },
  options: { contractUsd?: number; contractSize?: number },
): void {
  if (options.contractUsd !== undefined || options.contractSize !== undefined) return;
  const exchange = market.source.toLowerCase();
  const rule = Object.hasOwn(RULES, exchange) ? RULES[exchange] : undefined;
  if (rule === undefined || rule.symbols?.test(market.pair) === false) return;
  const worth = rule.worth === undefined ? '' : ` (${rule.worth})`;
  const found = `${market.source} ${market.pair}`;
  throw new InputError(
    `${where}: the sizes of ${found} are numbers of contracts${worth}: ` +
      'give --contract-usd N (USD of one contract) or --contract-size N (units of the coin in one contract)',
  );
}
