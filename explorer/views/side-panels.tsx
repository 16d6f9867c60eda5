/** The panels beside the map, except the ladder: they are loaded after the page. */
import { filterOf } from '../state/requests.js';
import { show, view as viewValue } from '../state/session.js';
import type { Order } from '../state/url.js';
import { toggled } from './filters.js';
import { MarketsPanel } from './markets-panel.js';
import type { MomentSideProps } from './moment-side.js';
import { OrderPanel } from './order-panel.js';
import { ScorePanel } from './score-panel.js';
import { VenueSplit } from './venue-split.js';

export { MomentCard } from './moment-card.js';

/** What follows the ladder. */
export function SidePanels(props: MomentSideProps) {
  const { address, view, requested, played, coverage, onChange } = props;
  const { score, t } = requested;
  const { ladder } = played;
  const { atS, venues } = view;
  return (
    <>
      {requested.ladder !== null && (
        <OrderPanel
          {...{ address, t, atS }}
          ladder={requested.ladder}
          filter={filterOf(view)}
          order={view.order}
          onChange={changeOrder}
        />
      )}
      {score !== null && <ScorePanel score={score} />}
      {ladder !== null && (ladder.parts.length > 0 || venues.length > 0) && (
        <VenueSplit
          ladder={ladder}
          chosen={venues}
          onToggle={(venue) => onChange({ ...view, venues: toggled(venues, venue) })}
        />
      )}
      {played.t === null && coverage !== null && coverage.markets.length > 0 && (
        <MarketsPanel coverage={coverage} />
      )}
    </>
  );
}

/** Changes the view of now: an amount is complete only after a pause. */
function changeOrder(order: Partial<Order>): void {
  const { value: shown } = viewValue;
  if (shown.name === 'token') show({ ...shown, order: { ...shown.order, ...order } }, 'replace');
}
