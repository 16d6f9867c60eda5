/** Query parameters that keep the tokens of a size (api.md 4.5). */
import Type from 'typebox';

const NULL_FAILS = 'A token whose figure is not known is outside of every range that is sent.';
const LIQUIDITY =
  "Support Liquidity, USD: DEX markets' support within 25% of the price in the newest snapshot, " +
  'constant product included.';

const bound = (description: string) =>
  Type.Optional(Type.Number({ minimum: 0, description: `${description} ${NULL_FAILS}` }));

export const tokenRanges = {
  min_mcap: bound('Least market capitalisation, USD.'),
  max_mcap: bound('Greatest market capitalisation, USD; not below `min_mcap`.'),
  min_liquidity: bound(`Least ${LIQUIDITY}`),
  max_liquidity: bound('Greatest Support Liquidity, USD; not below `min_liquidity`.'),
};
