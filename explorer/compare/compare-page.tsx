/** Two or more tokens, or the parts of one, on one time axis. */
import { useMemo } from 'preact/hooks';
import { type FathomClient, FathomError, type SeriesParameters } from '../../client/index.js';
import { columnsOfLines } from '../export/columns.js';
import { Icon } from '../frame/icon.js';
import { Search } from '../frame/search.js';
import { Empty, Failure, Loading } from '../frame/states.js';
import { stepFor, stepName } from '../heatmap/detail.js';
import { perpsText } from '../ladder/ladder.js';
import { currentS } from '../state/clock.js';
import { percent, shortAddress, signedPercent, usd } from '../state/format.js';
import { useKeyWatch } from '../state/key-watch.js';
import { useDocument } from '../state/load.js';
import type { ApiRequest } from '../state/requests.js';
import { currentClient, messageOf, show } from '../state/session.js';
import {
  COMPARE_PCTS,
  type CompareView,
  hashOf,
  MAX_COMPARED,
  METRICS,
  PARTS,
  type Preset,
  PRESET_S,
  PRESETS,
  SCALES,
  tokenView,
  TYPES,
} from '../state/url.js';
import { RequestBar } from '../views/request-bar.js';
import { TokenLinks } from '../views/token-links.js';
import { type Compared, linesOf } from './compared.js';
import { LineChart } from './line-chart.js';
import { MapGrid, type MapPart } from './map-grid.js';
import './compare.css';

const METRIC_LABELS = {
  ...{ depth: 'Depth', score: 'Score', price: 'Price change', maps: 'Maps' },
} as const;
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
const SCALE_LABELS = { linear: 'Linear', log: 'Log' } as const;
const PART_LABELS = { venue: 'By venue', type: 'By type' } as const;
const points = (value: number): string => value.toFixed(1);
const priceChange = (value: number): string => signedPercent(value, 2);

export default function ComparePage({ view }: { view: CompareView }) {
  const { tokens, metric, pct, scale, window } = view;
  const parts = partsOf(view);
  const { document, error } = useDocument(
    tokens.length === 0 ? null : `compare ${JSON.stringify({ ...view, scale: null })}`,
    (client, signal) => comparedOf(view, client, signal),
  );
  const compared = document?.found ?? null;
  useKeyWatch(compared?.[0]?.address ?? null);
  const parameters = document?.parameters ?? queryOf(view);
  const { t, lines } = useMemo(
    () => linesOf(compared ?? [], metric === 'maps' ? 'depth' : metric),
    [compared, metric],
  );
  const maps = useMemo(
    (): MapPart[] =>
      lines.map(({ key, label }) => ({
        ...{ key, label },
        address: parts === null ? key : tokens[0],
        parameters: parts === null ? {} : { [`${parts}s`]: [key] },
      })),
    [lines],
  );
  const client = currentClient();
  const change = (part: Partial<CompareView>): void => show({ ...view, ...part });
  const labelOf = (address: string): string =>
    compared?.find((one) => one.address === address)?.label ?? shortAddress(address);
  return (
    <article class="board compare" aria-labelledby="compare-title">
      <header class="board-head">
        <h1 id="compare-title">Compare</h1>
        <p class="note">Tokens, or the venues or types of one, on one time axis.</p>
      </header>
      <div class="filters" role="toolbar" aria-label="Choices">
        <Choices
          label="Show"
          options={METRICS.map((value) => ({ value, label: METRIC_LABELS[value] }))}
          chosen={metric}
          onChoose={(value) =>
            change({ metric: value, ...(hasParts(value) ? {} : { parts: null }) })
          }
        />
        {metric === 'depth' && (
          <>
            <Choices
              label="Within"
              options={COMPARE_PCTS.map((value) => ({ value, label: percent(value / 100, 0) }))}
              chosen={pct}
              onChoose={(value) => change({ pct: value })}
            />
            <span class="note">of the price, {perpsText()}</span>
            <Choices
              label="Scale"
              options={SCALES.map((value) => ({ value, label: SCALE_LABELS[value] }))}
              chosen={scale}
              onChoose={(value) => change({ scale: value })}
            />
          </>
        )}
        <Choices
          label="Window"
          options={PRESETS.map((value) => ({ value, label: value }))}
          chosen={window}
          onChoose={(value) => change({ window: value })}
        />
        {tokens.length === 1 &&
          PARTS.map((value) => (
            <button
              key={value}
              type="button"
              class="tool"
              aria-pressed={parts === value}
              onClick={() =>
                change({
                  parts: parts === value ? null : value,
                  metric: hasParts(metric) ? metric : 'depth',
                })
              }
            >
              {PART_LABELS[value]}
            </button>
          ))}
      </div>
      <div class="compared">
        {tokens.map((address) => (
          <span key={address} class="chip compared-token">
            <a href={hashOf(tokenView(address))}>{labelOf(address)}</a>
            <button
              type="button"
              aria-label={`Remove ${labelOf(address)}`}
              title="Remove"
              onClick={() => change({ tokens: tokens.filter((one) => one !== address) })}
            >
              <Icon name="close" />
            </button>
          </span>
        ))}
        {tokens.length < MAX_COMPARED && (
          <Search
            id="compare-found"
            placeholder="Add a token"
            onChoose={(address) =>
              change({ tokens: [...new Set([...tokens, address])], parts: null })
            }
          />
        )}
      </div>
      {document !== null && document.refused.length > 0 && (
        <p class="note" role="status">
          {document.refused.map(({ address, why }) => (
            <span key={address}>
              {address} is left out: {why}{' '}
            </span>
          ))}
        </p>
      )}
      <section class="card compare-card" aria-label="Chart">
        {tokens.length === 0 ? (
          <Empty
            title="Nothing to compare yet"
            below={
              <TokenLinks
                title="Begin with one of these:"
                hrefOf={(one) => hashOf({ ...view, tokens: [one] })}
              />
            }
          >
            Add a token or two.
          </Empty>
        ) : compared === null ? (
          error !== null ? (
            <Failure error={error} />
          ) : (
            <Loading what="the series" />
          )
        ) : t.length === 0 ? (
          <Empty title="No depth in this window">Choose a longer one.</Empty>
        ) : metric === 'maps' ? (
          client !== null && <MapGrid {...{ client, window }} parts={maps} />
        ) : (
          <LineChart
            label={`${METRIC_LABELS[metric]} of ${lines.map(({ label }) => label).join(', ')}`}
            t={t}
            lines={lines}
            format={metric === 'depth' ? usd : metric === 'score' ? points : priceChange}
            axis={
              metric === 'price'
                ? 'fitted'
                : metric === 'depth' && scale === 'log'
                  ? 'log'
                  : 'from zero'
            }
          />
        )}
      </section>
      {tokens.length > 0 && (
        <RequestBar
          requests={
            metric === 'maps'
              ? maps.map((map) => mapRequest(map, window))
              : (compared ?? tokens.map((address) => ({ address }))).map(({ address }) =>
                  seriesRequest(address, parameters),
                )
          }
          shows={SHOWN_FIELDS[metric]}
          data={{
            name: () => 'compare',
            load: async () => {
              if (metric !== 'maps' || client === null) return columnsOfLines(t, lines);
              const { columnsOfMaps } = await import('../export/history.js');
              const times = { from: `-${window}`, to: 'now' };
              const shown = maps.map((map) => ({
                ...map,
                parameters: { ...map.parameters, ...times },
              }));
              return columnsOfMaps(client, shown);
            },
          }}
        />
      )}
    </article>
  );
}

function Choices<T extends string | number>(props: {
  label: string;
  options: readonly { value: T; label: string }[];
  chosen: T;
  onChoose: (value: T) => void;
}) {
  const { label, options, chosen, onChoose } = props;
  return (
    <div class="choice-group">
      <span class="note">{label}</span>
      <div class="segments" role="group" aria-label={label}>
        {options.map((option) => (
          <button
            key={option.value}
            type="button"
            aria-pressed={option.value === chosen}
            onClick={() => onChoose(option.value)}
          >
            {option.label}
          </button>
        ))}
      </div>
    </div>
  );
}

interface Comparison {
  /** The parameters of every series. */
  parameters: SeriesParameters;
  found: Compared[];
  /** Addresses that the server refuses. */
  refused: { address: string; why: string }[];
}

/** @throws FathomError if the server refuses every token, or fails */
async function comparedOf(
  view: CompareView,
  client: FathomClient,
  signal: AbortSignal,
): Promise<Comparison> {
  const parameters = queryOf(view);
  const comparison: Comparison = { parameters, found: [], refused: [] };
  const answers = await Promise.allSettled(
    view.tokens.map(async (address): Promise<Compared> => {
      const [series, score] = await Promise.all([
        client.getDepthSeries({ address, ...parameters }, { signal }),
        client.getScore({ address }, { signal }),
      ]);
      return { address, label: score.symbol ?? shortAddress(address), series };
    }),
  );
  for (const [i, answer] of answers.entries()) {
    if (answer.status === 'fulfilled') {
      comparison.found.push(answer.value);
      continue;
    }
    const reason = answer.reason as unknown;
    const isRefused = reason instanceof FathomError && reason.status === 400;
    if (!isRefused || view.tokens.length === 1) throw reason;
    comparison.refused.push({ address: view.tokens[i], why: messageOf(reason) });
  }
  return comparison;
}

/** Whether a metric can compare the venues or types of a single token. */
const hasParts = (metric: CompareView['metric']): boolean =>
  metric === 'depth' || metric === 'maps';

/** The kind of parts to compare: venues or types of a single token; null: compare tokens. */
function partsOf({ parts, metric, tokens }: CompareView): CompareView['parts'] {
  return tokens.length === 1 && hasParts(metric) ? parts : null;
}

/** All tokens get the same steps. The last step has not ended yet: its point is the newest snapshot. */
function queryOf(view: CompareView): SeriesParameters {
  const { window, pct, metric } = view;
  const group = partsOf(view);
  const nowS = currentS();
  const stepS = Math.max(MIN_STEP_S, stepFor(PRESET_S[window], MAX_POINTS, MIN_STEP_S));
  return {
    ...{ from: `-${window}`, to: Math.ceil(nowS / stepS) * stepS + AHEAD_S },
    ...{ step: stepName(stepS), pct: [pct] },
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

function mapRequest({ address, parameters }: MapPart, window: Preset): ApiRequest {
  const filter = Object.entries(parameters).map(([name, list]) => [name, list.join(',')] as const);
  return {
    method: 'GET',
    path: `/replay/${address}`,
    query: { from: `-${window}`, to: 'now', group: 'all', ...Object.fromEntries<string>(filter) },
  };
}
