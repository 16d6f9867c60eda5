/** Details of a board's rows beyond their columns, loaded when a row is opened. */
import type { ComponentChildren } from 'preact';
import type { AddressClient } from '../../../client/address-client.js';
import type { Parameters } from '../../../client/index.js';
import { Failure, Loading } from '../../frame/states.js';
import {
  compact,
  count,
  finePercent,
  percent,
  price,
  shortAddress,
  signedPercent,
  usd,
} from '../../state/format.js';
import { useDocument } from '../../state/load.js';
import { hashOf, tokenView } from '../../state/url.js';
import { CopyButton } from '../copy-button.js';
import { ScorePanel } from '../score-panel.js';
import { Bars } from '../sparkline.js';

const ORDERS = 20;
const WALLETS = 20;
const BALANCE_WINDOWS = ['1d', '7d', '30d'] as const;

/** Names and values in pairs. */
export function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.flatMap(([name, value]) => [
        <dt key={name}>{name}</dt>,
        <dd key={`${name} value`}>{value}</dd>,
      ])}
    </dl>
  );
}

/** An address that can be copied. */
export function Address({ address }: { address: string }) {
  return (
    <span class="address">
      <code title={address}>{shortAddress(address)}</code>
      <CopyButton text={() => address} label="Copy the address" iconOnly={true} />
    </span>
  );
}

/** A token as a link to its depth, and its address, which can be copied. */
export function TokenAddress({ address, symbol }: { address: string; symbol: string | null }) {
  return (
    <>
      <a href={hashOf(tokenView(address))}>{symbol ?? 'depth'}</a> <Address address={address} />
    </>
  );
}

interface FetchedProps<T> {
  /** What is loaded, in words. */
  what: string;
  /** Distinguishes the document from others. */
  name: string;
  ask: (client: AddressClient, signal: AbortSignal) => Promise<T>;
  children: (document: T) => ComponentChildren;
}

function Fetched<T>({ what, name, ask, children }: FetchedProps<T>) {
  const { document, error } = useDocument(`${what} ${name}`, ask, 'never');
  if (document !== null) return <>{children(document)}</>;
  return error === null ? <Loading what={what} /> : <Failure error={error} />;
}

interface Heading {
  label: string;
  isText?: boolean;
}

function SmallTable(props: {
  caption: string;
  headings: readonly Heading[];
  rows: readonly (readonly ComponentChildren[])[];
}) {
  const { caption, headings, rows } = props;
  const classOf = (at: number) => (headings[at].isText === true ? 'text' : 'figure');
  return (
    <table class="small detail-table">
      <caption>{caption}</caption>
      <thead>
        <tr>
          {headings.map(({ label }, at) => (
            <th key={label} scope="col" class={classOf(at)}>
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((cells, at) => (
          <tr key={at}>
            {cells.map((cell, i) => (
              <td key={headings[i].label} class={classOf(i)}>
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** How a token's score is computed. */
export function ScoreDetails({ address }: { address: string }) {
  return (
    <Fetched
      what="the score"
      name={address}
      ask={(client, signal) => client.getScore({ address, explain: true }, { signal })}
    >
      {(score) => <ScorePanel score={score} />}
    </Fetched>
  );
}

/** The spans of DCA flows. */
export const SPAN_LABELS = {
  '24_hr': '24h',
  '6_hr': '6h',
  '1_hr': '1h',
  '30_min': '30m',
  '5_min': '5m',
} as const;
export type Span = keyof typeof SPAN_LABELS;

/** A token's largest active DCA orders. @param props.spans whose flows are shown */
export function DcaOrders({ address, spans }: { address: string; spans: readonly Span[] }) {
  const query = { token_address: address, sort_by: 'usd_flow', limit: ORDERS } as const;
  return (
    <Fetched
      what="the orders"
      name={address}
      ask={(client, signal) => client.getDcaOrders(query, { signal })}
    >
      {({ orders }) => (
        <SmallTable
          caption={`DCA orders by flow${orders.length === ORDERS ? `, the first ${ORDERS}` : ''}`}
          headings={[
            { label: 'Order', isText: true },
            { label: 'Side', isText: true },
            { label: 'With', isText: true },
            { label: 'Left' },
            { label: 'Filled' },
            ...spans.map((span) => ({ label: `Next ${SPAN_LABELS[span]}` })),
            { label: 'Price range' },
          ]}
          rows={orders.map((order) => [
            <Address address={order.dca_address} />,
            <span class={order.direction === 'BUY' ? 'order-buy' : 'order-sell'}>
              {order.direction === 'BUY' ? 'Buys' : 'Sells'}
            </span>,
            order.paired_symbol,
            usd(order.remaining_usd),
            percent(order.pct_filled, 0),
            ...spans.map((span) => usd(order.flow_projections[`usd_next_${span}`])),
            rangeText(order.price_range.min_usd, order.price_range.max_usd),
          ])}
        />
      )}
    </Fetched>
  );
}

export function rangeText(min: number | null, max: number | null): string {
  if (min === null && max === null) return 'any';
  if (min === null) return `up to ${price(max)}`;
  return max === null ? `from ${price(min)}` : `${price(min)} to ${price(max)}`;
}

/** A token's largest holders. @param props.priceUsd null if unknown */
export function Wallets({ address, priceUsd }: { address: string; priceUsd: number | null }) {
  return (
    <Fetched
      what="the wallets"
      name={address}
      ask={(client, signal) =>
        client.getWhaleActivity(
          {
            token_address: address,
            include: ['wallets'],
            wallet_limit: WALLETS,
            wallet_activity: true,
          },
          { signal },
        )
      }
    >
      {({ wallets = [] }) => (
        <SmallTable
          caption={`The ${wallets.length} largest wallets`}
          headings={[
            { label: 'Wallet', isText: true },
            { label: 'Balance' },
            { label: 'Worth' },
            ...BALANCE_WINDOWS.map((window) => ({
              label: `Change ${window === '1d' ? '24h' : window}`,
            })),
            { label: 'Changes by day, 30 days', isText: true },
          ]}
          rows={wallets.map((wallet) => [
            <Address address={wallet.owner} />,
            compact(wallet.balance),
            usd(priceUsd === null ? null : wallet.balance * priceUsd),
            ...BALANCE_WINDOWS.map((window) => {
              const { pct } = wallet.balance_change[window];
              return (
                <span class={pct === null || pct === 0 ? '' : pct < 0 ? 'down' : 'up'}>
                  {pct === null ? 'new' : signedPercent(pct)}
                </span>
              );
            }),
            <Bars
              values={(wallet.activity ?? []).map(({ change }) => change)}
              label={`Changes of ${wallet.owner} by day`}
            />,
          ])}
        />
      )}
    </Fetched>
  );
}

/** For each window of fee density that pools lack as a period: the next longer period. */
const LONGER_PERIODS: Readonly<Record<string, string>> = { '6h': '12h' };

/** A token's DLMM pools, over a window of the fee density board. */
export function Pools({ address, window }: { address: string; window: string }) {
  const period = LONGER_PERIODS[window] ?? window;
  const query = { mint: address, period, sort: 'fees' } as Parameters<'getDlmmPools'>;
  return (
    <Fetched
      what="the pools"
      name={`${address} ${period}`}
      ask={(client, signal) => client.getDlmmPools(query, { signal })}
    >
      {({ data }) =>
        data.length === 0 ? (
          <p class="note">This token has no DLMM pool here with data of {period}.</p>
        ) : (
          <SmallTable
            caption={`DLMM pools, ${period}${period === window ? '' : `: they have no period of ${window}`}`}
            headings={[
              { label: 'Pool', isText: true },
              { label: 'Pair', isText: true },
              { label: 'Step' },
              { label: 'Base fee' },
              { label: 'TVL' },
              { label: `Volume ${period}` },
              { label: `Fees ${period}` },
              { label: 'Range yield' },
            ]}
            rows={data.map((pool) => [
              <Address address={pool.address} />,
              `${pool.baseSymbol ?? shortAddress(pool.baseMint)}/${pool.quoteSymbol ?? shortAddress(pool.quoteMint)}`,
              count(pool.binStep),
              `${pool.baseFeePct}%`,
              usd(pool.tvl),
              usd(pool.volume),
              usd(pool.fees),
              finePercent(pool.rangeYield),
            ])}
          />
        )
      }
    </Fetched>
  );
}
