/** The costs of an order in several tokens, or in one: by size, or over time. */
import { useMemo } from 'preact/hooks';
import { columnsOfLines, type FileColumn } from '../export/columns.js';
import { Empty } from '../frame/states.js';
import { MAX_BANDS } from '../orders/bounded-lines.js';
import { amountText, CostChart, type CostLine } from '../orders/cost-chart.js';
import { finePercent, shortAddress, usd as usdText } from '../state/format.js';
import { useKeyWatch } from '../state/key-watch.js';
import { useDocument } from '../state/load.js';
import type { ApiRequest } from '../state/requests.js';
import type { CompareView } from '../state/url.js';
import { RequestBar } from '../views/request-bar.js';
import { CompareFrame } from './compare-frame.js';
import { type Costs, linesOfCosts } from './cost-lines.js';
import { costsOf, ladderQuery, orderUsd, sizesOf } from './costs.js';
import type { OfTokens } from './of-tokens.js';
import { LineChart } from './line-chart.js';

const percentText = (pct: number): string => finePercent(pct / 100);

export function CostPage({ view }: { view: CompareView }) {
  const { tokens, metric, window, order } = view;
  const { document, error } = useDocument<OfTokens<Costs>>(
    tokens.length === 0
      ? null
      : `costs ${JSON.stringify([tokens, metric, metric === 'cost' || window, order.side, orderUsd(view)])}`,
    (client, signal, last) => costsOf(view, client, signal, last?.found ?? []),
  );
  const costs = document?.found ?? null;
  useKeyWatch(costs?.[0]?.address ?? null);
  const labelOf = (address: string): string =>
    costs?.find((one) => one.address === address)?.label ?? shortAddress(address);
  return (
    <CompareFrame
      {...{ view, labelOf, error }}
      refused={document?.refused ?? []}
      chart={costs !== null && <Chart {...{ view, costs }} />}
    >
      {tokens.length > 0 && (
        <RequestBar
          requests={tokens.map((address) => requestOf(view, address))}
          shows={metric === 'cost' ? 'shows quotes' : 'walks each ladder as /slippage does'}
          data={{
            name: () => 'compare',
            load: () => Promise.resolve(columnsOf(view, costs ?? [])),
          }}
        />
      )}
    </CompareFrame>
  );
}

function Chart({ view, costs }: { view: CompareView; costs: readonly Costs[] }) {
  const { metric, window, order } = view;
  const size = orderUsd(view);
  const what = `${order.side === 'sell' ? 'Selling' : 'Buying'} ${usdText(size)}`;
  const { t, lines } = useMemo(
    () => linesOfCosts(costs, window, order.unit),
    [costs, window, order.unit],
  );
  const curves = useMemo(
    () =>
      costs.map(({ address, label, curve }, i): CostLine => {
        return { key: address, label, hue: `--series-${i + 1}`, points: curve };
      }),
    [costs],
  );
  if (metric === 'cost') {
    if (curves.every(({ points }) => points.length === 0)) {
      return <Empty title="No depth for such an order">Enter a smaller amount.</Empty>;
    }
    return (
      <div class="cost-page">
        <CostChart
          label={`Cost of ${order.side === 'sell' ? 'selling' : 'buying'} by size`}
          lines={curves}
          unit={order.unit}
          usd={size}
        />
        <CostTable {...{ costs, size, what }} />
      </div>
    );
  }
  if (t.length === 0) return <Empty title="No depth in this window">Choose a longer one.</Empty>;
  const none = costs.filter(({ course }) => course.every(({ cost }) => cost === null));
  return (
    <div class="cost-page">
      <LineChart
        label={`Cost of ${what.toLowerCase()} over time`}
        {...{ t, lines }}
        hues={null}
        format={order.unit === 'usd' ? usdText : percentText}
        axis="from zero"
      />
      <p class="note">
        {what} at once, without fees and perps.{' '}
        {lines.length > MAX_BANDS
          ? "At a line, a band shows what the ladder's 1% steps leave open."
          : "The bands are what the ladder's 1% steps leave open."}
        {none.length > 0 &&
          ` Not once had ${none.map(({ label }) => label).join(', ')} enough depth for it.`}
      </p>
    </div>
  );
}

interface CostTableProps {
  costs: readonly Costs[];
  size: number;
  what: string;
}

/** The costs of the entered amount, side by side. */
function CostTable({ costs, size, what }: CostTableProps) {
  return (
    <table class="small cost-table">
      <caption class="note">{what} at once, without fees and perps</caption>
      <thead>
        <tr>
          <th scope="col">Token</th>
          <td>Cost</td>
          <td>Slippage</td>
          <td>At least</td>
          <td>At most</td>
        </tr>
      </thead>
      <tbody>
        {costs.map(({ address, label, curve }) => {
          const cost = curve.find(({ usd }) => usd === size);
          return (
            <tr key={address}>
              <th scope="row">{label}</th>
              {cost === undefined ? (
                <td colSpan={4}>more than the ladder has</td>
              ) : (
                <>
                  <td>
                    <b>{amountText(cost.inUsd.mean, 'usd')}</b>
                  </td>
                  <td>{amountText(cost.inPct.mean, 'pct')}</td>
                  {(['least', 'most'] as const).map((bound) => (
                    <td key={bound}>
                      {amountText(cost.inUsd[bound], 'usd')} ({amountText(cost.inPct[bound], 'pct')}
                      )
                    </td>
                  ))}
                </>
              )}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function requestOf(view: CompareView, address: string): ApiRequest {
  const { metric, window, order } = view;
  const query: Record<string, unknown> =
    metric === 'cost' ? { side: order.side, usd: sizesOf(view) } : { ...ladderQuery(window) };
  return {
    method: 'GET',
    path: `/${metric === 'cost' ? 'slippage' : 'replay'}/${address}`,
    query: Object.fromEntries(Object.entries(query).map(([name, one]) => [name, String(one)])),
  };
}

/** USD, whatever the chart shows. */
function columnsOf(view: CompareView, costs: readonly Costs[]): FileColumn[] {
  if (view.metric === 'cost') {
    const sizes = sizesOf(view).toSorted((a, b) => a - b);
    return [
      { name: 'usd', values: sizes },
      ...costs.flatMap(({ label, curve }) =>
        (['mean', 'least', 'most'] as const).map((part): FileColumn => {
          const costAt = (size: number) => curve.find(({ usd }) => usd === size)?.inUsd[part];
          const name = part === 'mean' ? `${label} cost_usd` : `${label} ${part}_usd`;
          return { name, values: sizes.map((size) => costAt(size) ?? null) };
        }),
      ),
    ];
  }
  const { t, lines } = linesOfCosts(costs, view.window, 'usd');
  return columnsOfLines(
    t,
    lines.flatMap(({ label, values, bounds }) => [
      { label: `${label} cost_usd`, values },
      { label: `${label} least_usd`, values: bounds?.least ?? [] },
      { label: `${label} most_usd`, values: bounds?.most ?? [] },
    ]),
  );
}
