/** Says when the depth within 1% of a token's price falls below an amount, and when it is back: bot.ts TOKEN USD */
import { fathomClient, FathomError } from '@fathom/client';

const { FATHOM_URL: url = 'http://127.0.0.1:8080', FATHOM_KEY: key = '' } = process.env;
const [token = 'WETH', amount = '2000000'] = process.argv.slice(2);
const limitUsd = Number(amount);
if (!(limitUsd > 0)) fail(`USD: expected a number above 0, not ${amount}`);

const fathom = fathomClient({
  url,
  key,
  onWait: ({ message }) => console.error(message),
});
/** Ends with one line for what the user can mend. */
function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
const sum = (usd: number[]): number => usd.reduce((total, one) => total + one, 0);
const isLow = new Map<string, boolean>();

// The ladder's steps within 1%, all markets added up.
const messages = fathom.follow(token, {
  from: '-5m',
  group: 'all',
  min_pct: -1,
  max_pct: 1,
  types: ['onchain_pool', 'onchain_limit_order', 'cex_spot'],
});
try {
  for await (const message of messages) {
    // Revisions and deletions are about the past.
    if (message.type !== 'snapshots') continue;
    for (const { t, price_usd, support_usd, resistance_usd } of message.snapshots) {
      for (const [side, usd] of [
        ['support', sum(support_usd)],
        ['resistance', sum(resistance_usd)],
      ] as const) {
        const wasLow = isLow.get(side) ?? false;
        isLow.set(side, usd < limitUsd);
        if (isLow.get(side) === wasLow) continue;
        const change = wasLow ? 'back at' : 'down to';
        const time = new Date(t * 1000).toISOString();
        const dollars = Math.round(usd).toLocaleString('en-US');
        console.log(`${time} ${token} at ${price_usd}: ${side} within 1% is ${change} $${dollars}`);
      }
    }
  }
} catch (error) {
  if (!(error instanceof FathomError)) throw error;
  fail(error.message);
}
