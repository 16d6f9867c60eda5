/** One token: its depth over time, its newest ladder, its score and its venues. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { FathomError, Result } from '../../client/index.js';
import { Deferred } from '../frame/deferred.js';
import { Empty, Failure, Loading } from '../frame/states.js';
import { DepthHeatmap } from '../heatmap/depth-heatmap.js';
import type { Picture } from '../heatmap/picture.js';
import { DepthChart } from '../ladder/depth-chart.js';
import { currentS } from '../state/clock.js';
import { absoluteTime, shortAddress } from '../state/format.js';
import { onEscape } from '../state/keys.js';
import { followToken, whileVisible } from '../state/live.js';
import { reloadMs, useDocument, useNowS } from '../state/load.js';
import { shortestWith, unpinned } from '../state/pin.js';
import type { Played } from '../playback/playback.js';
import {
  filterOf,
  MAX_HISTORY_S,
  replayRequest,
  spanInSight,
  timesInSight,
  windowTimes,
} from '../state/requests.js';
import {
  attempt,
  canSpare,
  currentClient,
  isLive,
  isTransient,
  key as keyValue,
  noteFailure,
  show,
  theme as themeValue,
  view as viewValue,
} from '../state/session.js';
import { setTitle } from '../state/title.js';
import {
  DEFAULT_VIEW,
  hashOf,
  PRESET_S,
  type TokenView,
  tokenView,
  viewOf,
  type Zoom,
} from '../state/url.js';
import { useModule } from '../state/use-module.js';
import { useValue } from '../state/use-value.js';
import { Filters, toggled } from './filters.js';
import { RequestBar } from './request-bar.js';
import { TokenHead } from './token-head.js';
import { useMoment } from './use-moment.js';

/** How many of the best tokens the page tries to find one with depth. */
const CANDIDATES = 20;
/** The address states what is in sight once the heatmap has rested this long. */
const SETTLED_MS = 250;
/** Shown for an invalid address, or a token without depth. */
const loadWrongAddress = async () => (await import('./wrong-address.js')).WrongAddress;
const loadNoDepth = async () => (await import('./wrong-address.js')).NoDepth;
const loadPoolVenue = async () => (await import('./pool-venue.js')).PoolVenue;

export function TokenPage({ view }: { view: TokenView }) {
  const { address, pool } = view;
  if (address === null) return <FirstToken />;
  if (pool !== null) return <Deferred load={loadPoolVenue} props={{ view, address, pool }} />;
  return <Token key={address} view={view} address={address} />;
}

/** Shows the best token with depth when the address names no token. */
function FirstToken() {
  const { document: found, error } = useDocument('first token', (client, signal) =>
    client.getTokens({ limit: CANDIDATES }, { signal }),
  );
  const first = found?.tokens.find((one) => one.last_snapshot_at !== null) ?? found?.tokens[0];
  useEffect(() => setTitle('Depth'), []);
  useEffect(() => {
    // The address may have changed already, before its event arrives.
    const isStillDefault = hashOf(viewOf(location.hash)) === hashOf(DEFAULT_VIEW);
    if (first !== undefined && isStillDefault) show(tokenView(first.address), 'replace');
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

function Token({ view: named, address }: { view: TokenView; address: string }) {
  const theme = useValue(themeValue);
  const live = useValue(isLive);
  const key = useValue(keyValue);
  const [failure, setFailure] = useState<FathomError | null>(null);
  const tries = useValue(attempt);
  const nowS = useNowS();
  const view = answerable(named, nowS);
  useEffect(
    () => (live ? whileVisible((signal) => followToken(address, signal)) : undefined),
    [live, address, key],
  );
  const { atS } = view;
  const pin = (t: number | null): void => {
    const { value: shown } = viewValue;
    if (shown.name === 'token')
      show(t === null ? unpinned(shown) : { ...shown, atS: t }, 'replace');
  };
  useEffect(() => onEscape(() => pin(null)), []);
  const { types, venues, group, band } = view;
  const filter = filterOf(view);
  const shownMoment = useMoment({ address, atS, filter });
  const { identity, score, scored, failure: noMoment, t: newestT } = shownMoment;
  const [isEmpty, setEmpty] = useState(false);
  const { document: coverage, error: noCoverage } = useDocument(
    `coverage ${address}`,
    (client, signal) => client.getCoverage({ address }, { signal }),
    isEmpty ? 'by change' : 'never',
  );
  useEffect(() => {
    if (coverage !== null) setEmpty(coverage.tiers.length === 0);
  }, [coverage]);
  const symbol = identity?.symbol ?? null;
  useEffect(() => setTitle(`${symbol ?? shortAddress(address)} depth`), [symbol, address]);
  const filterName = `${types.join()} ${venues.join()}`;
  const reach = useMemo(() => reachOf(coverage), [coverage]);
  const historyFromS = reach?.from ?? null;
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
  // The server answers again.
  useEffect(() => {
    setFailure((last) => (last !== null && isTransient(last) ? null : last));
  }, [scored]);
  const panels = useModule(() => import('./side-panels.js'));
  const picture = useRef<Picture | null>(null);
  const settling = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(settling.current), [heatmapName]);
  const settle = (zoom: Zoom | null): void => {
    clearTimeout(settling.current);
    settling.current = setTimeout(() => {
      const { value: shown } = viewValue;
      if (shown.name === 'token') show({ ...shown, zoom }, 'replace');
    }, SETTLED_MS);
  };
  const [played, setPlayed] = useState<Played | null>(null);
  const isMoving = played?.isMoving === true;
  // When playback ends at now, the last frame stays until the current data arrives.
  const isLast = played !== null && !isMoving && atS === null;
  const isOver = shownMoment.isKnown || noMoment !== null;
  useEffect(() => {
    if (isLast && isOver) setPlayed(null);
  }, [isLast, isOver]);
  const isPlayed = played !== null && (isMoving || isLast || played.ladder.t === atS);
  const shown = isPlayed ? played.ladder : shownMoment.ladder;
  const shownT = isMoving ? played.ladder.t : atS;
  const isScored = !isMoving && scored !== null && scored.data_time === shown?.t;
  const moment = shown && { ladder: shown, scored: isScored ? scored : null };
  const client = currentClient();
  const { error, notFound } = shownMoment;
  // With a pinned time, a 400 may be about the time alone: the address is wrong only if its coverage is refused, too.
  const isWrong = error?.status === 400 && (atS === null || noCoverage?.status === 400);
  if (isWrong) return <Deferred load={loadWrongAddress} props={{ address, error }} />;
  if (error !== null && identity === null && atS === null) return <Failure error={error} />;
  const change = (next: TokenView): void => show(next);
  if (isEmpty) {
    return (
      <article class="token" aria-label={symbol ?? address}>
        {symbol !== null && <TokenHead {...{ address, identity, score, nowS }} shown={null} />}
        <Deferred load={loadNoDepth} props={{ address, isKnown: symbol !== null }} />
      </article>
    );
  }
  return (
    <article class="token" aria-label={symbol ?? address}>
      <TokenHead
        {...{ address, identity, score, nowS }}
        shown={isPlayed || atS !== null ? shown : null}
      />
      <Filters
        view={view}
        choices={shown?.choices ?? shownMoment.choices}
        historyS={historyFromS === null ? null : nowS - historyFromS}
        onChange={change}
      />
      {notFound.length > 0 && (
        <p class="note" role="status">
          The snapshot has no depth at {notFound.join(', ')}.
        </p>
      )}
      <div class="token-grid">
        <div class="card heat-card">
          {failure !== null ? (
            <Failure error={failure} />
          ) : (
            client !== null &&
            // The window 'all' needs the beginning of the history.
            (view.window !== 'all' || coverage !== null || noCoverage !== null) && (
              <DepthHeatmap
                client={client}
                address={address}
                window={heatmap.window}
                spanS={spanOf(view.window, historyFromS === null ? null : nowS - historyFromS)}
                reach={reach}
                zoom={view.zoom}
                {...{ pinnedT: atS, moment }}
                onPin={pin}
                windowAt={(t) => {
                  const window = shortestWith(t, nowS);
                  return { name: window, href: hashOf({ ...view, window, zoom: null }) };
                }}
                onPlay={setPlayed}
                filter={heatmap.filter}
                theme={theme}
                isLive={live}
                reloadMs={reloadMs}
                canSpare={canSpare}
                pictureRef={picture}
                onZoom={settle}
                onFailure={(reason) => {
                  noteFailure(reason as FathomError);
                  setFailure(reason as FathomError);
                }}
              />
            )
          )}
        </div>
        <aside
          class={isMoving ? 'side is-moving' : 'side'}
          aria-label={shownT === null ? 'Now' : `At ${absoluteTime(shownT)}`}
          aria-busy={isMoving || (scored === null && noMoment === null)}
        >
          {panels !== null && (
            <panels.MomentCard
              {...{ shownT, isMoving }}
              dataT={newestT}
              isAnswered={scored !== null}
              failure={noMoment}
              onNow={() => pin(null)}
            />
          )}
          {shown !== null ? (
            <DepthChart ladder={shown} />
          ) : (
            noMoment === null &&
            (score === null || newestT !== null) && (
              <section class="card">
                <Loading what="the ladder" />
              </section>
            )
          )}
          {panels !== null && shownMoment.ladder !== null && (
            <panels.OrderPanel address={address} t={newestT} atS={atS} filter={filter} />
          )}
          {panels !== null && score !== null && <panels.ScorePanel score={score} />}
          {panels !== null && shown !== null && (shown.parts.length > 0 || venues.length > 0) && (
            <panels.VenueSplit
              ladder={shown}
              chosen={venues}
              onToggle={(venue) => change({ ...view, venues: toggled(venues, venue) })}
            />
          )}
        </aside>
      </div>
      <RequestBar
        requests={[replayRequest(view, historyFromS)]}
        href={`${location.origin}${location.pathname}${hashOf(view)}`}
        data={{
          name: async () => {
            const { fileNameOf } = await import('../export/depth-name.js');
            return fileNameOf(symbol ?? address, view, spanInSight(view, historyFromS, currentS()));
          },
          load: async () => {
            if (client === null) return [];
            const { columnsOfHistory } = await import('../export/history.js');
            const { from, to } = timesInSight(view, historyFromS);
            const query = {
              from,
              to,
              group,
              ...filter,
              min_pct: band.minPct,
              max_pct: band.maxPct,
            };
            return columnsOfHistory(client, address, query);
          },
          picture: async () => {
            const [{ pngOf }, { titleOf }] = await Promise.all([
              import('../export/png.js'),
              import('../export/depth-name.js'),
            ]);
            const { choices } = shownMoment;
            const title = titleOf(symbol ?? shortAddress(address), view, choices);
            return pngOf(picture.current?.photograph() ?? null, title);
          },
        }}
      />
    </article>
  );
}

/** The view without what no server could answer: a moment in the future, or a zoom that begins too long ago. */
function answerable(view: TokenView, nowS: number): TokenView {
  const { atS, zoom } = view;
  const oldestS = nowS - MAX_HISTORY_S;
  const isFuture = atS !== null && atS > nowS;
  const isTooOld = zoom !== null && zoom.fromS + (zoom.toS === null ? nowS : 0) < oldestS;
  if (!isFuture && !isTooOld) return view;
  return { ...view, atS: isFuture ? null : atS, zoom: isTooOld ? null : zoom };
}

/** The time range of a token's history; null if there is none, or it is unknown. */
function reachOf(coverage: Result<'getCoverage'> | null): { from: number; to: number } | null {
  if (coverage === null || coverage.tiers.length === 0) return null;
  const { tiers } = coverage;
  const to = Math.max(...tiers.map((tier) => tier.last_t)) + 1;
  const first = Math.min(...tiers.map((tier) => tier.first_t));
  return { from: Math.max(first, to - MAX_HISTORY_S), to };
}

/** The length of a window in seconds. @param historyS how far the history reaches back; null if unknown */
function spanOf(window: TokenView['window'], historyS: number | null): number {
  if (typeof window === 'object') return window.toS - window.fromS;
  return window === 'all' ? (historyS ?? MAX_HISTORY_S) : PRESET_S[window];
}
