/** Beside a token's price: its change in 24 hours, its chain, and the asset's leg on another chain. Loaded after the page. */
import type { Score } from '../../client/index.js';
import { absoluteTime, CHAIN_LABELS, NONE, price, signedPercent } from '../state/format.js';
import { useDocument, useLast } from '../state/load.js';
import { canSpare, messageOf } from '../state/session.js';
import { spared } from '../state/spare.js';
import { hashOf, tokenView } from '../state/url.js';
import { type DayAgo, dayAgoWindow, dayBefore, tells } from './day-change.js';
import { How } from './how.js';

interface TokenMarksProps {
  address: string;
  /** Names the token and its legs. */
  identity: Score | null;
  /** The price shown, and the time of its snapshot; null if there is none, or while playback runs. */
  shown: { t: number; priceUsd: number } | null;
}

export function TokenMarks({ address, identity, shown }: TokenMarksProps) {
  const chain = address.startsWith('0x') ? 'evmchain' : 'mainchain';
  const others = (identity?.explain?.legs ?? []).filter((leg) => leg.address !== address);
  return (
    <>
      {shown !== null && <DayChange address={address} {...shown} />}
      <span class="chip" title="The token's chain">
        {CHAIN_LABELS[chain]}
      </span>
      {others.map((leg) => (
        <a
          key={leg.address}
          class="chip leg"
          href={hashOf(tokenView(leg.address))}
          title={`The same asset on the other chain, ${price(leg.price_usd)}: the score counts both`}
        >
          also {CHAIN_LABELS[leg.chain]}
        </a>
      ))}
    </>
  );
}

/** No ladder but the step at the price. */
const PRICES_ALONE = { group: 'all', min_pct: -0.4, max_pct: 0.4 } as const;

function DayChange({ address, t, priceUsd }: { address: string; t: number; priceUsd: number }) {
  const window = dayAgoWindow(t);
  const { document: found, error } = useDocument(
    `prices ${address} ${window.from}`,
    async (client, signal): Promise<DayAgo> => {
      await spared(canSpare, signal);
      const query = { address, ...window, ...PRICES_ALONE };
      const page = await client.getReplay(query, { signal });
      if (page.next_from === null) return { ...window, ...page };
      // Too many for a page: the last one of each minute.
      return { ...window, ...(await client.getReplay({ ...query, step: '1m' }, { signal })) };
    },
    'never',
  );
  // The last answer stays while the next one is on its way.
  const last = useLast(found, address);
  const before = last !== null && tells(last, t) ? dayBefore(last, t) : null;
  if (before === null) {
    const isAsked = found === null && error === null;
    const why = error === null ? 'There is no snapshot of 24 hours before' : messageOf(error);
    return (
      <span
        class="day-change note"
        title={isAsked ? 'Asking for the price of 24 hours before' : why}
      >
        {NONE} 24h
      </span>
    );
  }
  const { t: beforeT, price_usd: beforeUsd } = before;
  const share = priceUsd / beforeUsd - 1;
  const tone = share < 0 ? 'down' : 'up';
  return (
    <How
      class="day-change"
      label={
        <span title={`From ${price(beforeUsd)} at ${absoluteTime(beforeT)}`}>
          <b class={tone}>{signedPercent(share, 2)}</b> 24h
        </span>
      }
    >
      {({ changeSteps }) => changeSteps({ t, usd: priceUsd }, { t: beforeT, usd: beforeUsd })}
    </How>
  );
}
