/** One token: its depth over time, its newest ladder, its score and its venues. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { FathomClient, FathomError, Score } from '../../client/index.js';
import { Empty, Failure, Loading } from '../frame/states.js';
import { DepthHeatmap } from '../heatmap/depth-heatmap.js';
import type { VisibleTime } from '../heatmap/props.js';
import { DepthChart } from '../ladder/depth-chart.js';
import { newestLadder } from '../ladder/ladder.js';
import { absoluteTime, age, price, shortAddress } from '../state/format.js';
import { followToken, lastChange, whileVisible } from '../state/live.js';
import { leastReloadMs, reloadMs, useDocument, useLast, useNowS } from '../state/load.js';
import { pause } from '../state/pause.js';
import { filterOf, replayRequest, windowTimes } from '../state/requests.js';
import {
  attempt,
  canSpare,
  currentClient,
  isLive,
  key as keyValue,
  noteFailure,
  show,
  theme as themeValue,
} from '../state/session.js';
import { setTitle } from '../state/title.js';
import { DEFAULT_VIEW, hashOf, type TokenView, tokenView, viewOf } from '../state/url.js';
import { useValue } from '../state/use-value.js';
import { CopyButton } from './copy-button.js';
import { Filters, toggled } from './filters.js';
import { OrderPanel } from './order-panel.js';
import { RequestBar } from './request-bar.js';
import { ScorePanel } from './score-panel.js';
import { VenueSplit } from './venue-split.js';

/** How many of the best tokens the page searches for one with depth. */
const CANDIDATES = 20;
/** Links name the visible part of the window once the heatmap has rested this long. */
const SETTLED_MS = 250;
/** Requests for the score of a new snapshot at most. */
const SCORE_TRIES = 5;

export function TokenPage({ view }: { view: TokenView }) {
  const { address } = view;
  return address === null ? <FirstToken /> : <Token key={address} view={view} address={address} />;
}

/** Shows the best token with depth when the address names no token. */
function FirstToken() {
  const { document: found, error } = useDocument('first token', (client, signal) =>
    client.getTokens({ limit: CANDIDATES }, { signal }),
  );
  const first = found?.tokens.find((one) => one.last_snapshot_at !== null) ?? found?.tokens[0];
  useEffect(() => {
    // The address may already name another view, whose event has yet to come.
    const isStillAsked = hashOf(viewOf(location.hash)) === hashOf(DEFAULT_VIEW);
    if (first !== undefined && isStillAsked) show(tokenView(first.address), 'replace');
  }, [first]);
  if (error !== null && found === null) return <Failure error={error} />;
  if (found?.count === 0) {
    return (
      <Empty title="No tokens yet">
        This server has no data. Load some with 'fathom import' or 'fathom ingest', or try the
        simulated market of 'fathom demo'.
      </Empty>
    );
  }
  return <Loading what="tokens" />;
}

function Token({ view, address }: { view: TokenView; address: string }) {
  const theme = useValue(themeValue);
  const live = useValue(isLive);
  const key = useValue(keyValue);
  const [failure, setFailure] = useState<FathomError | null>(null);
  const [visible, setVisible] = useState<VisibleTime | null>(null);
  const tries = useValue(attempt);
  const nowS = useNowS();
  useEffect(
    () => (live ? whileVisible((signal) => followToken(address, signal)) : undefined),
    [live, address, key],
  );
  const { document: score, error } = useDocument(
    `score ${address}`,
    (client, signal) => scoreAfter(lastChange.value?.t ?? 0, client, address, signal),
    'by change',
  );
  const coverage = useDocument(
    `coverage ${address}`,
    (client, signal) => client.getCoverage({ address }, { signal }),
    'never',
  ).document;
  const symbol = score?.symbol ?? null;
  useEffect(() => {
    setTitle(`${symbol ?? shortAddress(address)} depth`);
    return () => setTitle(null);
  }, [symbol, address]);
  const { types, venues, group, band } = view;
  const filter = filterOf(view);
  const filterName = `${types.join()} ${venues.join()}`;
  const newestT = score?.data_time ?? null;
  const { document: newest } = useDocument(
    newestT === null ? null : `ladder ${address} ${newestT} ${filterName}`,
    (client, signal) => {
      const at = newestT ?? 0;
      return client.getReplay(
        { address, from: at, to: at + 1, group: 'venue', ...filter },
        { signal },
      );
    },
    'never',
  );
  const newLadder = useMemo(() => newest && newestLadder(newest), [newest]);
  const ladder = useLast(newLadder, address);
  const facets = useLast(newest?.facets ?? null, address);

  const firstS = coverage?.tiers.reduce<number | null>(
    (least, tier) => Math.min(least ?? Infinity, tier.first_t),
    null,
  );
  const historyFromS = firstS ?? null;
  const times = windowTimes(view.window, historyFromS);
  const { from, to } = times;
  const heatmapName = [address, from, to, group, filterName, band.minPct, band.maxPct].join(' ');
  const heatmap = useMemo(
    () => ({
      window: times,
      filter: { group, ...filter, min_pct: band.minPct, max_pct: band.maxPct },
    }),
    [heatmapName],
  );
  useEffect(() => setFailure(null), [heatmapName, tries]);
  useEffect(() => setVisible(null), [heatmapName]);
  const settling = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const settle = (time: VisibleTime | null): void => {
    clearTimeout(settling.current);
    settling.current = setTimeout(() => setVisible(time), SETTLED_MS);
  };
  const client = currentClient();
  if (error !== null && score === null) return <Failure error={error} />;
  const isEmpty = coverage !== null && coverage.tiers.length === 0;
  const change = (next: TokenView): void => show(next);
  // Links and curl commands name the visible part of the window.
  const visibleView = visible === null ? view : { ...view, window: wholeSeconds(visible) };
  return (
    <article class="token" aria-label={score?.symbol ?? address}>
      <Head address={address} score={score} nowS={nowS} />
      <Filters
        view={view}
        facets={facets}
        historyS={historyFromS === null ? null : nowS - historyFromS}
        onChange={change}
      />
      <div class="token-grid">
        <section class="card heat-card" aria-label="Depth over time">
          {isEmpty ? (
            <Empty title="No depth yet">
              This token has no snapshot on this server. Press / to find one that has.
            </Empty>
          ) : failure !== null ? (
            <Failure error={failure} />
          ) : (
            client !== null && (
              <DepthHeatmap
                client={client}
                address={address}
                window={heatmap.window}
                filter={heatmap.filter}
                theme={theme}
                isLive={live}
                reloadMs={reloadMs}
                canSpare={canSpare}
                onView={settle}
                onFailure={(reason) => {
                  noteFailure(reason as FathomError);
                  setFailure(reason as FathomError);
                }}
              />
            )
          )}
        </section>
        <aside class="side" aria-label="Now">
          {ladder !== null ? (
            <DepthChart ladder={ladder} />
          ) : (
            !isEmpty && (
              <section class="card">
                <Loading what="the ladder" />
              </section>
            )
          )}
          {ladder !== null && <OrderPanel address={address} t={newestT} filter={filter} />}
          {score !== null && <ScorePanel score={score} />}
          {ladder !== null && ladder.parts.length > 0 && (
            <VenueSplit
              ladder={ladder}
              chosen={venues}
              onToggle={(venue) => change({ ...view, venues: toggled(venues, venue) })}
            />
          )}
        </aside>
      </div>
      <RequestBar
        request={replayRequest(visibleView, historyFromS)}
        href={`${location.origin}${location.pathname}${hashOf(visibleView)}`}
        data={{
          name: `${symbol ?? address}-depth`,
          load: async () => {
            if (client === null) return [];
            const { columnsOfHistory } = await import('../export/history.js');
            const { from, to } = windowTimes(visibleView.window, historyFromS);
            const asked = {
              from,
              to,
              group,
              ...filter,
              min_pct: band.minPct,
              max_pct: band.maxPct,
            };
            return columnsOfHistory(client, address, asked);
          },
        }}
      />
    </article>
  );
}

/** The score, once it rests on the snapshot of a time: it follows that a moment later. */
async function scoreAfter(
  t: number,
  client: FathomClient,
  address: string,
  signal: AbortSignal,
): Promise<Score> {
  for (let tries = 1; ; tries++) {
    const score = await client.getScore({ address, explain: true }, { signal });
    if ((score.data_time ?? 0) >= t || tries === SCORE_TRIES) return score;
    await pause(leastReloadMs(), signal);
  }
}

function wholeSeconds({ fromS, toS }: VisibleTime) {
  return { fromS: Math.floor(fromS), toS: Math.ceil(toS) };
}

function Head(props: { address: string; score: Score | null; nowS: number }) {
  const { address, score, nowS } = props;
  const dataTime = score?.data_time ?? null;
  return (
    <header class="token-head">
      <h1>
        {score?.symbol ?? shortAddress(address)}
        <span class="name">{score?.name ?? ''}</span>
      </h1>
      <b class="price">{price(score?.service_current_price)}</b>
      {score !== null && score.status !== 'available' && (
        <span class="chip">{score.status.replaceAll('_', ' ')}</span>
      )}
      {score?.stale === true && <span class="chip warn">stale</span>}
      <span class="address">
        {/* Without a symbol, the address is the title. */}
        {typeof score?.symbol === 'string' && <code title={address}>{shortAddress(address)}</code>}
        <CopyButton text={() => address} label="Copy the address" iconOnly={true} />
      </span>
      {dataTime !== null && (
        <time
          class="note"
          dateTime={new Date(dataTime * 1000).toISOString()}
          title={absoluteTime(dataTime)}
        >
          {age(nowS - dataTime)} old
        </time>
      )}
    </header>
  );
}
