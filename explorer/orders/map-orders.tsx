/** The orders of others on the map: limit orders as lines at their prices, DCA orders as what trades at each price. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { DcaOrder, FathomError, LimitOrder } from '../../client/index.js';
import { fit } from '../heatmap/canvas.js';
import { type Style, styleOf } from '../heatmap/overlay.js';
import { priceText } from '../heatmap/ticks.js';
import type { View } from '../heatmap/view.js';
import { currentS } from '../state/clock.js';
import { age, count, signedFinePercent, usd } from '../state/format.js';
import { useDocument } from '../state/load.js';
import { messageOf, theme as themeValue } from '../state/session.js';
import { hashOf, type OrderKind, ordersView } from '../state/url.js';
import { useValue } from '../state/use-value.js';
import { drawDca, drawLines } from './draw-orders.js';
import { leftOf } from './left.js';
import { dcaAt, linesAt, linesIn, type Sums, sumsOf } from './marks.js';
import './orders.css';

/** The most that the API lists. */
const MOST = { limit: 500, dca: 50 } as const;
/** Lines nearer than this are drawn as one; the cursor reads lines as near as this. */
const LINE_GAP_PX = 3;
const REACH_PX = 5;
/** The most orders that the cursor reads. */
const MOST_READ = 4;

/** Orders of a kind; null: not loaded yet. */
interface Loaded<Order> {
  orders: readonly Order[] | null;
  error: FathomError | null;
}

/** Null: not shown. */
export interface MapOrders {
  limit: Loaded<LimitOrder> | null;
  dca: Loaded<DcaOrder> | null;
}

interface OrderLayerProps {
  address: string;
  kinds: readonly OrderKind[];
  view: View;
  /** Called with the orders once they are loaded. */
  onLoaded: (orders: MapOrders) => void;
}

/** Draws over the map. */
export function OrderLayer({ address, kinds, view, onLoaded }: OrderLayerProps) {
  const { limit, dca } = useOrders(address, kinds);
  const parts = [limit?.orders, limit?.error, dca?.orders, dca?.error];
  useEffect(() => onLoaded({ limit, dca }), parts);
  const canvas = useRef<HTMLCanvasElement>(null);
  const style = useRef<Style | null>(null);
  const theme = useValue(themeValue);
  const draw = (): void => {
    if (canvas.current !== null)
      drawOn(canvas.current, (style.current ??= styleOf(canvas.current)));
  };
  const drawOn = (element: HTMLCanvasElement, look: Style): void => {
    fit(element);
    const height = element.clientHeight / look.size;
    const context = element.getContext('2d');
    context?.clearRect(0, 0, element.width, element.height);
    const leftPx =
      dca === null ? 0 : drawDca(element, { orders: dca.orders ?? [], view, style: look });
    if (limit === null) return;
    const lines = linesIn(limit.orders ?? [], view, LINE_GAP_PX / Math.max(1, height));
    drawLines(element, { lines, view, style: look, leftPx });
  };
  const latest = useRef(draw);
  latest.current = draw;
  useEffect(() => void (style.current = null), [theme]);
  useEffect(draw);
  useEffect(() => {
    if (canvas.current === null) return;
    const watch = new ResizeObserver(() => {
      style.current = null;
      latest.current();
    });
    watch.observe(canvas.current);
    return () => watch.disconnect();
  }, []);
  return (
    <div class="map-orders" aria-hidden="true">
      <canvas ref={canvas} />
    </div>
  );
}

function useOrders(address: string, kinds: readonly OrderKind[]): MapOrders {
  const limit = useDocument(
    kinds.includes('limit') ? `limit orders ${address}` : null,
    (client, signal) =>
      client.getLimitOrders({ token_address: address, limit: MOST.limit }, { signal }),
    'by change',
  );
  const dca = useDocument(
    kinds.includes('dca') ? `dca orders ${address}` : null,
    (client, signal) =>
      client.getDcaOrders(
        { token_address: address, limit: MOST.dca, sort_by: 'usd_flow' },
        { signal },
      ),
    'by change',
  );
  const loaded = <Order,>(
    kind: OrderKind,
    { document, error }: { document: { orders: Order[] } | null; error: FathomError | null },
  ): Loaded<Order> | null =>
    kinds.includes(kind) ? { orders: document?.orders ?? null, error } : null;
  return { limit: loaded('limit', limit), dca: loaded('dca', dca) };
}

interface OrderReadingProps {
  orders: MapOrders;
  view: View;
  /** The cursor's place. */
  t: number;
  lnPrice: number;
  /** The price that the cursor states, that of its 1% step. */
  priceUsd: number;
  /** Of the plot. */
  heightPx: number;
}

/** The orders at the cursor, as a part of its readout. */
export function OrderReading({ orders, view, t, lnPrice, priceUsd, heightPx }: OrderReadingProps) {
  const limits = orders.limit?.orders ?? [];
  const lines = linesIn(limits, view, LINE_GAP_PX / heightPx);
  const near = linesAt(lines, { t, lnPrice }, view, REACH_PX / heightPx);
  const listed = near.flatMap((line) => line.orders);
  const rest = listed.slice(MOST_READ);
  const dca = orders.dca?.orders ?? null;
  return (
    <>
      {listed.length > 0 && (
        <div class="order-reading">
          <b>Limit orders here, now</b>
          {listed.slice(0, MOST_READ).map((one) => (
            <p key={one.order_address}>
              <span class={one.direction === 'BUY' ? 'order-buy' : 'order-sell'}>
                {one.direction === 'BUY' ? 'Buys' : 'Sells'} {usd(leftOf(one))}
              </span>{' '}
              at {priceText(one.usd_price)} ({signedFinePercent(one.pct_away)})
              <span class="heatmap-readout-soft">
                {' '}
                {one.platform},{' '}
                <span class="order-age">{age(currentS() - one.created_at)} old</span>
              </span>
            </p>
          ))}
          {rest.length > 0 && (
            <p class="heatmap-readout-soft">
              {count(rest.length)} more, {usd(rest.reduce((sum, one) => sum + leftOf(one), 0))}
            </p>
          )}
        </div>
      )}
      {dca !== null && (
        <div class="order-reading">
          <b>DCA orders at {priceText(priceUsd)}</b>
          <p>
            <Sides sums={dcaAt(dca, priceUsd)} />
          </p>
        </div>
      )}
    </>
  );
}

/** `12 buy $1.20M, 3 sell $500K`. */
function Sides({ sums: { buys, buyUsd, sells, sellUsd } }: { sums: Sums }) {
  if (buys + sells === 0) return <>none</>;
  return (
    <>
      <span class="order-buy">
        {count(buys)} buy {usd(buyUsd)}
      </span>
      ,{' '}
      <span class="order-sell">
        {count(sells)} sell {usd(sellUsd)}
      </span>
    </>
  );
}

interface OrderNoteProps {
  orders: MapOrders;
  address: string;
}

/** What the map's orders are in all, or why there are none, and links to their lists. */
export function OrderNote({ orders: { limit, dca }, address }: OrderNoteProps) {
  return (
    <div class="order-note">
      {limit !== null && (
        <Note kind="limit" name="Limit orders" {...{ address }} {...limit}>
          {(orders) => <Sides sums={sumsOf(orders, leftOf)} />}
        </Note>
      )}
      {dca !== null && (
        <Note kind="dca" name="DCA orders" {...{ address }} {...dca}>
          {(orders) => (
            <>
              <Sides sums={sumsOf(orders, (one) => one.remaining_usd)} />; next 24h{' '}
              <Flow orders={orders} />
            </>
          )}
        </Note>
      )}
    </div>
  );
}

interface NoteProps<Order> extends Loaded<Order> {
  kind: OrderKind;
  name: string;
  address: string;
  children: (orders: readonly Order[]) => ComponentChildren;
}

function Note<Order>({ kind, name, address, orders, error, children }: NoteProps<Order>) {
  const isPart = orders !== null && orders.length >= MOST[kind];
  return (
    <span role="status">
      <b>{isPart ? `${name}, the ${MOST[kind]} ${PARTS[kind]}` : name}</b>{' '}
      {orders !== null ? children(orders) : error !== null ? messageOf(error) : 'loading'}{' '}
      <a href={hashOf(ordersView(address, kind === 'limit' ? null : kind))}>List</a>
    </span>
  );
}

/** Which orders a list has that may not be whole. */
const PARTS = { limit: 'nearest', dca: 'with the largest flow' } as const;

function Flow({ orders }: { orders: readonly DcaOrder[] }) {
  const { buyUsd, sellUsd } = sumsOf(orders, (one) => one.flow_projections.usd_next_24_hr);
  return (
    <>
      <span class="order-buy">{usd(buyUsd)}</span> bought,{' '}
      <span class="order-sell">{usd(sellUsd)}</span> sold
    </>
  );
}
