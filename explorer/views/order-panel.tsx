/** What an order costs: `/slippage` for an amount that the user enters. */
import { useEffect, useState } from 'preact/hooks';
import type { MarketType, Slippage } from '../../client/index.js';
import { percent, price, signedFinePercent, signedPercent, usd } from '../state/format.js';
import { useDocument, useLast } from '../state/load.js';
import { isAway, messageOf, trouble } from '../state/session.js';
import { type Order, SIDES } from '../state/url.js';
import { useValue } from '../state/use-value.js';
import { amountOf, amountText } from './amount.js';
import { How } from './how.js';
import { Meter } from './sparkline.js';

/** The request is sent after a pause in typing. */
const PAUSE_MS = 250;
const MAX_VENUES = 6;

interface OrderPanelProps {
  address: string;
  /** Time of the ladder; null if there is none. */
  t: number | null;
  /** The moment shown; null: now. */
  atS: number | null;
  filter: { types?: MarketType[]; venues?: string[] };
  order: Order;
  onChange: (order: Partial<Order>) => void;
}

export function OrderPanel({ address, t, atS, filter, order, onChange }: OrderPanelProps) {
  const { side, usd: amount } = order;
  const [text, setText] = useState(() => amountText(amount));
  useEffect(() => {
    const timer = setTimeout(() => {
      if (amountOf(text) !== amount) onChange({ usd: amountOf(text) });
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => {
    // An address, or a step back in the tab's history, has another amount.
    if (amountOf(text) !== amount) setText(amountText(amount));
  }, [amount]);
  const isOdd = text.trim() !== '' && amountOf(text) === null;
  const question = `order ${address} ${JSON.stringify(filter)} ${side} ${amount}`;
  const { document: answer, error } = useDocument(
    t === null || amount === null ? null : `${question} ${t}`,
    (client, signal) =>
      client.getSlippage(
        { address, side, usd: [amount ?? 0], ...filter, ...(atS === null ? {} : { at: atS }) },
        { signal },
      ),
    'never',
  );
  // While a newer snapshot is requested, the last answer stays.
  const shown = useLast(answer, question);
  return (
    <section class="card order-card" aria-labelledby="order-title">
      <header>
        <h2 id="order-title">Order</h2>
        <div class="segments small" role="group" aria-label="Side">
          {SIDES.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={one === side}
              onClick={() => onChange({ side: one })}
            >
              {one === 'sell' ? 'Sell' : 'Buy'}
            </button>
          ))}
        </div>
      </header>
      <label class="amount">
        <span class="note">USD</span>
        <input
          type="text"
          inputMode="decimal"
          placeholder="500K"
          aria-label={`USD to ${side}`}
          aria-invalid={isOdd}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <div role="status">
        {isOdd ? (
          <p class="note">Expected an amount of USD such as 500000, 500K or 1.5M</p>
        ) : amount === null ? (
          <p class="note">
            What it costs to {side} at once, and at which venues; perps only if they are chosen
          </p>
        ) : error !== null ? (
          <p class="note">{messageOf(error)}</p>
        ) : (
          <Answer answer={shown} />
        )}
      </div>
    </section>
  );
}

function Answer({ answer }: { answer: Slippage | null }) {
  const isWaiting = isAway(useValue(trouble));
  if (answer !== null) return <Quote answer={answer} />;
  return (
    <p class="note">
      {isWaiting
        ? 'The server does not answer; the cost follows as soon as it does'
        : 'Asking the server'}
    </p>
  );
}

function Quote({ answer }: { answer: Slippage }) {
  const [quote] = answer.quotes;
  if (quote === undefined) return null;
  const { venues } = quote;
  const share = (pct: number | null): number | null => (pct === null ? null : pct / 100);
  return (
    <>
      {quote.filled ? (
        <dl class="facts">
          <dt>Slippage</dt>
          <dd>
            <b>{signedFinePercent(share(quote.slippage_pct))}</b>
          </dd>
          <dt title="The slippage if every 1% step is filled at its near end, and at its far end">
            Range
          </dt>
          <dd>
            {signedPercent(share(quote.best_pct), 2)} to {signedPercent(share(quote.worst_pct), 2)}
          </dd>
          <dt>Average price</dt>
          <dd>{price(quote.average_price_usd)}</dd>
          <dt>Price afterwards</dt>
          <dd>{price(quote.end_price_usd)}</dd>
        </dl>
      ) : (
        <p>
          The ladder holds only <b>{usd(answer.fillable_usd)}</b>.
        </p>
      )}
      <table class="small">
        <caption class="hidden">By venue</caption>
        <tbody>
          {venues.slice(0, MAX_VENUES).map((venue) => (
            <tr key={venue.key}>
              <th scope="row">{venue.label}</th>
              <td class="wide">
                <Meter
                  share={venue.usd / (venues[0]?.usd || 1)}
                  tone={answer.side === 'sell' ? 'support' : 'resistance'}
                />
              </td>
              <td>{usd(venue.usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {venues.length > MAX_VENUES && (
        <p class="note">
          {venues.length - MAX_VENUES} more venues take{' '}
          {percent(
            venues.slice(MAX_VENUES).reduce((sum, venue) => sum + venue.usd, 0) /
              venues.reduce((sum, venue) => sum + venue.usd, 0),
          )}
        </p>
      )}
      <How>{({ orderSteps }) => orderSteps(answer)}</How>
    </>
  );
}
