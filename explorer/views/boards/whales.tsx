/** The board of what large holders buy and sell. */
import type { BatchWhaleActivity } from '../../../client/index.js';
import { NONE, usd } from '../../state/format.js';
import type { ApiRequest } from '../../state/requests.js';
import { How } from '../how.js';
import { Bars } from '../sparkline.js';
import type { Column } from '../table.js';
import { Flow, rank, TokenLink } from './cells.js';
import { Wallets } from './details.js';
import type { BoardSpec } from './spec.js';

/** A token of the scores and what its holders did; amounts are in tokens. */
interface WhaleRow extends BatchWhaleActivity {
  symbol: string | null;
  name: string | null;
  service_current_price: number | null;
}
/** Most mints per request. */
const BATCH = 10;
const WHALE_TOKENS = 20;

/** Net flow of the 50 largest holders in USD; null if unknown. */
function netUsd(
  { summary, service_current_price: priceUsd }: WhaleRow,
  window: '1d' | '7d' | '30d',
): number | null {
  const net = summary?.net_flow?.top50?.[window]?.net ?? null;
  return net === null || priceUsd === null ? null : net * priceUsd;
}

export const whales: BoardSpec<WhaleRow> = {
  about:
    'What the 50 largest holders of the best-scored tokens did. Loading it costs one request per token, so it does not update by itself.',
  unit: 'tokens',
  empty: 'None of the best-scored tokens has holder snapshots.',
  choices: [],
  columns: () => [
    rank,
    {
      name: 'token',
      label: 'Token',
      by: (row) => row.symbol ?? row.token_address,
      show: (row) => <TokenLink address={row.token_address} symbol={row.symbol} name={row.name} />,
    },
    {
      name: 'days',
      label: 'Net flow by day, 30 days',
      about: 'Max: the largest flow of a day, which the longest bar shows',
      kind: 'chart',
      show: (row) => {
        const flows = (row.sparkline?.top50 ?? []).map(({ net }) => net ?? 0);
        const largest = Math.max(...flows.map(Math.abs)) * (row.service_current_price ?? NaN);
        return (
          <span class="line-figure">
            <Bars values={flows} label={`Net flow of ${row.symbol ?? row.token_address} by day`} />
            <span title="The largest flow of a day">max {usd(largest)}</span>
          </span>
        );
      },
    },
    ...(['1d', '7d', '30d'] as const).map((window): Column<WhaleRow> => ({
      name: `net_${window}`,
      label: `Net ${window === '1d' ? '24h' : window}`,
      kind: 'figure',
      by: (row) => netUsd(row, window),
      show: (row) => {
        const net = netUsd(row, window);
        return net === null ? NONE : <Flow value={net} />;
      },
    })),
    {
      name: 'accumulating',
      label: 'Accumulating 7d',
      about: 'How many of the 50 largest holders hold more than 7 days ago',
      kind: 'figure',
      by: (row) => row.summary?.accumulating?.top50?.['7d'] ?? null,
      show: (row) => row.summary?.accumulating?.top50?.['7d'] ?? NONE,
    },
    {
      name: 'new',
      label: 'New 7d',
      about: 'How many of the 50 largest holders held nothing 7 days ago',
      kind: 'figure',
      by: (row) => row.summary?.new_wallets?.top50?.['7d'] ?? null,
      show: (row) => row.summary?.new_wallets?.top50?.['7d'] ?? NONE,
    },
  ],
  ranking: () => 'token_score',
  keyOf: (row) => row.token_address,
  tokenOf: ({ token_address: address, symbol, name }) => ({ address, symbol, name }),
  details: (row) => {
    const net = row.summary?.net_flow?.top50?.['1d']?.net ?? null;
    const { service_current_price: priceUsd } = row;
    return (
      <>
        {net !== null && priceUsd !== null && (
          <How>{({ flowSteps }) => flowSteps(net, priceUsd)}</How>
        )}
        <Wallets address={row.token_address} priceUsd={priceUsd} />
      </>
    );
  },
  async load(client, _, signal) {
    const { tokens } = await client.getTopScores({ details: true }, { signal });
    const best = tokens.slice(0, WHALE_TOKENS);
    const found: BatchWhaleActivity[] = [];
    const requests: ApiRequest[] = [
      { method: 'GET', path: '/top-scores', query: { details: 'true' } },
    ];
    for (let at = 0; at < best.length; at += BATCH) {
      const token_addresses = best.slice(at, at + BATCH).map(({ address }) => address);
      requests.push({
        method: 'POST',
        path: '/whale-activity',
        query: {},
        body: { token_addresses },
      });
      found.push(...(await client.postWhaleActivity({ token_addresses }, { signal })).tokens);
    }
    const rows = found
      .filter((one) => one.has_coverage)
      .map((one) => {
        const token = best.find(({ address }) => address === one.token_address);
        // The order of an exported file's columns.
        return {
          symbol: token?.symbol ?? null,
          name: token?.name ?? null,
          ...one,
          service_current_price: token?.service_current_price ?? null,
        };
      });
    return { rows, requests };
  },
  reloads: false,
};
