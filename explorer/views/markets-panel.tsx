/** A token's markets, and which of them the latest snapshot does not have. */
import { useMemo, useState } from 'preact/hooks';
import type { Coverage, MarketType } from '../../client/index.js';
import { absoluteTime, age, count, shortAddress } from '../state/format.js';
import { useNowS } from '../state/load.js';
import { fieldTime } from '../state/zone.js';

/** How many markets are listed at first, and at most. */
const FIRST = 8;
const MOST = 500;

const KINDS: Record<MarketType, string> = {
  onchain_pool: 'pool',
  onchain_limit_order: 'limit orders',
  cex_spot: 'spot',
  cex_perp: 'perps',
};

export function MarketsPanel({ coverage }: { coverage: Coverage }) {
  const [isWhole, setWhole] = useState(false);
  const nowS = useNowS();
  const { latestT, missing, markets } = useMemo(() => byState(coverage), [coverage]);
  const all = markets.length;
  return (
    <section class="card" aria-labelledby="markets-title">
      <header>
        <h2 id="markets-title">Markets</h2>
        <span class="note" title={`The latest snapshot: ${absoluteTime(latestT)}`}>
          {missing === 0 ? `all ${count(all)}` : `${count(all - missing)} of ${count(all)}`} in the
          latest snapshot
        </span>
      </header>
      <ul class="markets">
        {markets.slice(0, isWhole ? MOST : FIRST).map((market) => {
          const { source, pair, address, type, last_t: lastT } = market;
          const name = [source, pair ?? (address === null ? '' : shortAddress(address))].join(' ');
          return (
            <li key={JSON.stringify([source, type, address, pair])}>
              <span class="label" title={address === null ? name : `${name}, ${address}`}>
                {name}
              </span>
              <span class="note">
                {KINDS[type]}
                {pair !== null && address !== null && ` ${shortAddress(address)}`}
              </span>
              {lastT < latestT && (
                <span class="state-text missing" title={`Last seen at ${absoluteTime(lastT)}`}>
                  missing since {shortTime(lastT, nowS)} ({age(nowS - lastT)} ago)
                </span>
              )}
            </li>
          );
        })}
      </ul>
      {all > FIRST && (
        <button
          type="button"
          class="plain"
          aria-expanded={isWhole}
          onClick={() => setWhole(!isWhole)}
        >
          {isWhole
            ? `The first ${FIRST} only`
            : all > MOST
              ? `The first ${MOST} of ${count(all)} markets`
              : `All ${all} markets`}
        </button>
      )}
      {isWhole && all > MOST && <p class="note">{count(all - MOST)} more are not listed.</p>}
    </section>
  );
}

/** Markets without depth in the newest snapshot of any tier come first, those that went missing last before others. */
function byState({ tiers, markets }: Coverage) {
  const latestT = tiers.reduce((newest, { last_t: t }) => Math.max(newest, t), 0);
  const missing = markets.filter(({ last_t: t }) => t < latestT);
  const sorted = missing.toSorted((a, b) => b.last_t - a.last_t);
  const present = markets.filter(({ last_t: t }) => t >= latestT);
  return { latestT, missing: missing.length, markets: [...sorted, ...present] };
}

/** `14:43`, with its date unless that is today's. */
function shortTime(t: number, nowS: number): string {
  const [text, now] = [fieldTime(t), fieldTime(nowS)];
  return text.slice(text.slice(0, 10) === now.slice(0, 10) ? 11 : 0, 16);
}
