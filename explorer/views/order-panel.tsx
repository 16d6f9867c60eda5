/** What an order costs: `/slippage` for an amount that the user enters. */
import type { Slippage } from '../../client/index.js';
import type { Ladder } from '../ladder/ladder.js';
import { costPoint, curveOf, sizesAround } from '../orders/cost.js';
import { amountText, boundsText, CostChart } from '../orders/cost-chart.js';
import { UnitChoice } from '../orders/unit-choice.js';
import { EXPECTED_AMOUNT, useAmount } from '../orders/use-amount.js';
import { percent, price, usd } from '../state/format.js';
import { useDocument, useLast } from '../state/load.js';
import type { MarketFilter } from '../state/requests.js';
import { isAway, messageOf, trouble } from '../state/session.js';
import { compareView, hashOf, type Order, type Side, SIDES } from '../state/url.js';
import { useValue } from '../state/use-value.js';
import { How } from './how.js';
import { Meter } from './sparkline.js';

const MAX_VENUES = 6;

interface OrderPanelProps {
  address: string;
  /** Time of the ladder; null if there is none. */
  t: number | null;
  /** The moment shown; null: now. */
  atS: number | null;
  /** Its depth bounds the sizes of the curve. */
  ladder: Ladder;
  filter: MarketFilter;
  order: Order;
  onChange: (order: Partial<Order>) => void;
}

export function OrderPanel(props: OrderPanelProps) {
  const { address, t, atS, ladder, filter, order, onChange } = props;
  const { side, usd: amount } = order;
  const { text, setText, isOdd } = useAmount(amount, (entered) => onChange({ usd: entered }));
  const question = `order ${address} ${JSON.stringify(filter)} ${side} ${amount}`;
  const { document: answer, error } = useDocument(
    t === null || amount === null ? null : `${question} ${t}`,
    (client, signal) => {
      // The curve's amounts: the request costs the same.
      const usd = sizesAround(amount ?? 0, heldBy(ladder, side));
      const at = atS === null ? {} : { at: atS };
      return client.getSlippage({ address, side, usd, ...filter, ...at }, { signal });
    },
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
          <p class="note">{EXPECTED_AMOUNT}</p>
        ) : amount === null ? (
          <p class="note">
            What it costs to {side} at once, and at which venues; perps only if they are chosen
          </p>
        ) : error !== null ? (
          <p class="note">{messageOf(error)}</p>
        ) : (
          <Answer answer={shown} {...{ order, onChange }} />
        )}
      </div>
    </section>
  );
}

/** What an order can take of the ladder's band, in whole cents: the server has at least as much. */
const heldBy = ({ takenUsd }: Ladder, side: Side): number =>
  Math.round((side === 'sell' ? takenUsd.support : takenUsd.resistance) * 100) / 100;

interface AnswerProps<T> extends Pick<OrderPanelProps, 'order' | 'onChange'> {
  answer: T;
}

function Answer({ answer, ...props }: AnswerProps<Slippage | null>) {
  const isWaiting = isAway(useValue(trouble));
  if (answer !== null) return <Quote answer={answer} {...props} />;
  return (
    <p class="note">
      {isWaiting
        ? 'The server does not answer; the cost follows as soon as it does'
        : 'Asking the server'}
    </p>
  );
}

/** The costs of the order over time: one request more, so they have their own page. */
const overTime = (token: string, order: Order): string =>
  hashOf({ ...compareView([token]), metric: 'cost-time', window: '24h', order });

function Quote({ answer, order, onChange }: AnswerProps<Slippage>) {
  const [quote] = answer.quotes;
  if (quote === undefined) return null;
  const { venues } = quote;
  const cost = costPoint(quote);
  const curve = curveOf(answer);
  const { unit } = order;
  return (
    <>
      {cost !== null ? (
        <dl class="facts">
          <dt title="The amount against the worth of its tokens at the price before the order; without fees">
            Cost
          </dt>
          <dd>
            <b>{usd(cost.inUsd.mean)}</b>
          </dd>
          <dt title="How much worse the average price is than the price before the order">
            Slippage
          </dt>
          <dd>
            <b>{amountText(cost.inPct.mean, 'pct')}</b>
          </dd>
          <dt title="The cost if every 1% step is filled at its near end, and at its far end: the ladder knows no more">
            Range
          </dt>
          <dd>
            {boundsText(cost.inUsd, 'usd')}
            <br />
            {boundsText(cost.inPct, 'pct')}
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
      {curve.length > 0 && (
        <>
          <div class="cost-head">
            <h3>Cost by size</h3>
            <a href={overTime(answer.token, order)}>Cost over time</a>
            <UnitChoice {...{ unit }} onChange={(chosen) => onChange({ unit: chosen })} />
          </div>
          <CostChart
            label={`Cost of ${answer.side === 'sell' ? 'selling' : 'buying'} by size`}
            lines={[
              {
                key: answer.side,
                label: 'Cost',
                hue: answer.side === 'sell' ? '--support' : '--resistance',
                points: curve,
              },
            ]}
            {...{ unit }}
            usd={quote.usd}
            onChoose={(size) => onChange({ usd: size })}
          />
        </>
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
