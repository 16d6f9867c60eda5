/** Two or more tokens, or the parts of one, on one time axis. */
import { useMemo } from 'preact/hooks';
import type { AddressClient } from '../../client/address-client.js';
import type { DepthSeries, SeriesParameters } from '../../client/index.js';
import { columnsOfLines } from '../export/columns.js';
import { stepFor, stepName } from '../heatmap/detail.js';
import { currentS } from '../state/clock.js';
import { shortAddress } from '../state/format.js';
import { type Gap, gapsOf } from '../state/gaps.js';
import { useKeyWatch } from '../state/key-watch.js';
import { useDocument } from '../state/load.js';
import type { ApiRequest } from '../state/requests.js';
import { currentClient } from '../state/session.js';
import { type CompareView, type Preset, PRESET_S, TYPES } from '../state/url.js';
import { RequestBar } from '../views/request-bar.js';
import { type Compared, linesOf, newestHole } from './compared.js';
import { CompareFrame } from './compare-frame.js';
import { ComparisonChart } from './comparison-chart.js';
import type { MapPart } from './map-grid.js';
import { CostPage } from './cost-page.js';
import { ofTokens, type OfTokens } from './of-tokens.js';
import { hasParts, isCost, partsOf } from './parts.js';
import './compare.css';

/** Shown beside the requests: from which fields of the replies the lines are drawn. */
const SHOWN_FIELDS = {
  depth: 'shows support_usd + resistance_usd',
  score: 'shows score',
  price: 'shows price_usd, as change since the first point',
  maps: undefined,
} as const;
const MIN_STEP_S = 60;
/** How far series are requested beyond this device's clock, which may be behind the server's. */
const AHEAD_S = 86_400;
/** Most points of a line. */
const MAX_POINTS = 500;

export default function ComparePage({ view }: { view: CompareView }) {
  return isCost(view.metric) ? <CostPage view={view} /> : <SeriesPage view={view} />;
}

function SeriesPage({ view }: { view: CompareView }) {
  const { tokens, metric, window } = view;
  const parts = partsOf(view);
  const { document, error } = useDocument(
    tokens.length === 0 ? null : `compare ${JSON.stringify({ ...view, scale: null })}`,
    (client, signal) => comparedOf(view, client, signal),
  );
  const compared = document?.found ?? null;
  useKeyWatch(compared?.[0]?.address ?? null);
  const parameters = document?.parameters ?? queryOf(view);
  const { t, lines } = useMemo(
    () => linesOf(compared ?? [], metric === 'score' || metric === 'price' ? metric : 'depth'),
    [compared, metric],
  );
  const maps = useMemo(
    (): MapPart[] =>
      lines.map(({ key, label }) => ({
        key,
        label,
        address: parts === null ? key : tokens[0],
        parameters: parts === null ? {} : { [`${parts}s`]: [key] },
      })),
    [lines],
  );
  const client = currentClient();
  const labelOf = (address: string): string =>
    compared?.find((one) => one.address === address)?.label ?? shortAddress(address);
  return (
    <CompareFrame
      {...{ view, labelOf, error }}
      refused={document?.refused ?? []}
      chart={compared !== null && <ComparisonChart {...{ view, client, t, lines, maps }} />}
    >
      {tokens.length > 0 && (
        <RequestBar
          requests={
            metric === 'maps'
              ? maps.map((map) => mapRequest(map, window))
              : (compared ?? tokens.map((address) => ({ address }))).map(({ address }) =>
                  seriesRequest(address, parameters),
                )
          }
          shows={isCost(metric) ? undefined : SHOWN_FIELDS[metric]}
          data={{
            name: () => 'compare',
            load: async () => {
              if (metric !== 'maps' || client === null) return columnsOfLines(t, lines);
              const { columnsOfMaps } = await import('../export/history.js');
              return columnsOfMaps(client, shownMaps(maps, window));
            },
            ...(metric !== 'maps' || client === null
              ? {}
              : {
                  size: async () => {
                    const { sizeOfMaps } = await import('../export/sizes.js');
                    return sizeOfMaps(client, shownMaps(maps, window));
                  },
                }),
          }}
        />
      )}
    </CompareFrame>
  );
}

interface Comparison extends OfTokens<Compared> {
  /** The parameters of every series. */
  parameters: SeriesParameters;
}

/** @throws FathomError if the server fails */
async function comparedOf(
  view: CompareView,
  client: AddressClient,
  signal: AbortSignal,
): Promise<Comparison> {
  const parameters = queryOf(view);
  const ask = async (address: string) => {
    const series = await client.getDepthSeries({ address, ...parameters }, { signal });
    return { address, series, gaps: await gapsIn(series, client, signal) };
  };
  const all = await ofTokens(view.tokens, client, signal, ask);
  return { ...all, parameters };
}

/** Most tokens whose gaps are kept. */
const MAX_KNOWN = 50;
/** Gaps by token and newest step without a point: these are loaded again only if another step has none. */
const known = new Map<string, readonly Gap[]>();

/** The gaps of a series' token, which cost a request only if a step has no point. */
async function gapsIn(
  series: DepthSeries,
  client: AddressClient,
  signal: AbortSignal,
): Promise<readonly Gap[]> {
  const holeT = newestHole(series);
  if (holeT === null) return [];
  const name = `${series.token} ${holeT}`;
  const gaps =
    known.get(name) ?? gapsOf(await client.getCoverage({ address: series.token }, { signal }));
  known.set(name, gaps);
  if (known.size > MAX_KNOWN) known.delete([...known.keys()][0]);
  return gaps;
}

/** All tokens get the same steps. The last step has not ended yet: its point is the newest snapshot. */
function queryOf(view: CompareView): SeriesParameters {
  const { window, pct, metric } = view;
  const group = partsOf(view);
  const nowS = currentS();
  const stepS = Math.max(MIN_STEP_S, stepFor(PRESET_S[window], MAX_POINTS, MIN_STEP_S));
  return {
    from: `-${window}`,
    to: Math.ceil(nowS / stepS) * stepS + AHEAD_S,
    step: stepName(stepS),
    pct: [pct],
    ...(metric === 'score' ? { score: true } : {}),
    ...(group === null ? {} : { group }),
    // Include perps, as on a token's page.
    ...(hasParts(metric) ? { types: [...TYPES] } : {}),
  };
}

function seriesRequest(address: string, parameters: SeriesParameters): ApiRequest {
  const query = Object.entries(parameters).map(([name, value]) => [name, String(value)] as const);
  return {
    method: 'GET',
    path: `/depth-series/${address}`,
    query: Object.fromEntries<string>(query),
  };
}

/** The maps with the times of the whole window. */
const shownMaps = (maps: readonly MapPart[], window: Preset) =>
  maps.map((map) => ({
    ...map,
    parameters: { ...map.parameters, from: `-${window}`, to: 'now', group: 'all' as const },
  }));

function mapRequest({ address, parameters }: MapPart, window: Preset): ApiRequest {
  const filter = Object.entries(parameters).map(([name, list]) => [name, list.join(',')] as const);
  return {
    method: 'GET',
    path: `/replay/${address}`,
    query: { from: `-${window}`, to: 'now', group: 'all', ...Object.fromEntries<string>(filter) },
  };
}
