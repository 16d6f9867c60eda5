/** Two or more tokens, or the venues of one, on one time axis. */
import { useMemo } from 'preact/hooks';
import { columnsOfLines } from '../export/columns.js';
import { Icon } from '../frame/icon.js';
import { Search } from '../frame/search.js';
import { Empty, Failure, Loading } from '../frame/states.js';
import { percent, shortAddress, signedPercent, usd } from '../state/format.js';
import { useDocument } from '../state/load.js';
import type { ApiRequest } from '../state/requests.js';
import { show } from '../state/session.js';
import {
  COMPARE_PCTS,
  type CompareView,
  hashOf,
  MAX_COMPARED,
  METRICS,
  PRESETS,
  tokenView,
} from '../state/url.js';
import { RequestBar } from '../views/request-bar.js';
import { type Compared, linesOf } from './compared.js';
import { LineChart } from './line-chart.js';
import './compare.css';

const METRIC_LABELS = { depth: 'Depth', score: 'Score', price: 'Price change' } as const;
const points = (value: number): string => value.toFixed(1);
const priceChange = (value: number): string => signedPercent(value, 2);

export default function ComparePage({ view }: { view: CompareView }) {
  const { tokens, metric, pct, window, byVenue } = view;
  const isByVenue = byVenue && tokens.length === 1;
  const { document: compared, error } = useDocument(
    tokens.length === 0 ? null : `compare ${JSON.stringify(view)}`,
    async (client, signal): Promise<Compared[]> => {
      const asked = queryOf(view);
      return Promise.all(
        tokens.map(async (address) => {
          const [series, score] = await Promise.all([
            client.getDepthSeries({ address, ...asked }, { signal }),
            client.getScore({ address }, { signal }),
          ]);
          return { address, label: score.symbol ?? shortAddress(address), series };
        }),
      );
    },
  );
  const { t, lines } = useMemo(() => linesOf(compared ?? [], metric), [compared, metric]);
  const change = (part: Partial<CompareView>): void => show({ ...view, ...part });
  const labelOf = (address: string): string =>
    compared?.find((one) => one.address === address)?.label ?? shortAddress(address);
  return (
    <article class="board compare" aria-labelledby="compare-title">
      <header class="board-head">
        <h1 id="compare-title">Compare</h1>
        <p class="note">Tokens, or the venues of one, on one time axis.</p>
      </header>
      <div class="filters" role="toolbar" aria-label="Choices">
        <Choices
          label="Show"
          options={METRICS.map((value) => ({ value, label: METRIC_LABELS[value] }))}
          chosen={isByVenue ? 'depth' : metric}
          onChoose={(value) =>
            change({ metric: value, ...(value === 'depth' ? {} : { byVenue: false }) })
          }
        />
        {(metric === 'depth' || isByVenue) && (
          <Choices
            label="Within"
            options={COMPARE_PCTS.map((value) => ({ value, label: percent(value / 100, 0) }))}
            chosen={pct}
            onChoose={(value) => change({ pct: value })}
          />
        )}
        <Choices
          label="Window"
          options={PRESETS.map((value) => ({ value, label: value }))}
          chosen={window}
          onChoose={(value) => change({ window: value })}
        />
        {tokens.length === 1 && (
          <button
            type="button"
            class="tool"
            aria-pressed={isByVenue}
            onClick={() => change({ byVenue: !byVenue, metric: 'depth' })}
          >
            By venue
          </button>
        )}
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
              change({ tokens: [...new Set([...tokens, address])], byVenue: false })
            }
          />
        )}
      </div>
      <section class="card compare-card" aria-label="Chart">
        {tokens.length === 0 ? (
          <Empty title="Nothing to compare yet">Add a token or two.</Empty>
        ) : compared === null ? (
          error !== null ? (
            <Failure error={error} />
          ) : (
            <Loading what="the series" />
          )
        ) : t.length === 0 ? (
          <Empty title="No depth in this window">Choose a longer one.</Empty>
        ) : (
          <LineChart
            label={`${METRIC_LABELS[metric]} of ${lines.map(({ label }) => label).join(', ')}`}
            t={t}
            lines={lines}
            format={metric === 'depth' ? usd : metric === 'score' ? points : priceChange}
            isFromZero={metric !== 'price'}
          />
        )}
      </section>
      {tokens.length > 0 && (
        <RequestBar
          request={requestOf(view)}
          data={{ name: 'compare', load: () => Promise.resolve(columnsOfLines(t, lines)) }}
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

function queryOf({ window, pct, metric, byVenue, tokens }: CompareView) {
  return {
    ...{ from: `-${window}`, to: 'now', pct: [pct] },
    ...(metric === 'score' ? { score: true } : {}),
    ...(byVenue && tokens.length === 1 ? { group: 'venue' as const } : {}),
  };
}

/** The request of the first token: those of the others differ by their address. */
function requestOf(view: CompareView): ApiRequest {
  const query = Object.entries(queryOf(view)).map(([name, value]) => [name, String(value)]);
  return {
    method: 'GET',
    path: `/depth-series/${view.tokens[0]}`,
    query: Object.fromEntries(query) as Record<string, string>,
  };
}
