/** The panels beside the map, with the code of charts: they are loaded after the page. */
import { DifferenceCard } from '../difference/difference-card.js';
import { hiddenPanels, type Panel } from '../state/layout.js';
import { filterOf } from '../state/requests.js';
import { show, view as viewValue } from '../state/session.js';
import type { Order } from '../state/url.js';
import { useValue } from '../state/use-value.js';
import { toggled } from '../state/choices.js';
import { MarketsPanel } from './markets-panel.js';
import type { MomentSideProps } from './moment-side.js';
import { OrderPanel } from './order-panel.js';
import { ScorePanel } from './score-panel.js';
import { VenueSplit } from './venue-split.js';

export { DepthChart } from '../ladder/depth-chart.js';
export { MomentCard } from './moment-card.js';

/** What follows the ladder. */
export function SidePanels(props: MomentSideProps) {
  const { address, view, requested, played, coverage, onChange } = props;
  const { score, t } = requested;
  const { ladder } = played;
  const hidden = useValue(hiddenPanels);
  const isShown = (panel: Panel): boolean => !hidden.includes(panel);
  const { atS, venues, excludedVenues, vsS } = view;
  const isLimited = venues.length + excludedVenues.length > 0;
  const difference = (
    <DifferenceCard
      {...{ address, ladder, vsS }}
      filter={filterOf(view)}
      onChoose={(t) => onChange({ ...view, vsS: t })}
    />
  );
  return (
    <>
      {vsS !== null && difference}
      {isShown('order') && requested.ladder !== null && (
        <OrderPanel
          {...{ address, t, atS }}
          ladder={requested.ladder}
          filter={filterOf(view)}
          order={view.order}
          onChange={changeOrder}
        />
      )}
      {isShown('score') && score !== null && <ScorePanel score={score} />}
      {isShown('venues') && ladder !== null && (ladder.parts.length > 0 || isLimited) && (
        <VenueSplit
          {...{ ladder, isLimited }}
          chosen={venues}
          onToggle={(venue) =>
            onChange(
              excludedVenues.includes(venue)
                ? { ...view, excludedVenues: toggled(excludedVenues, venue) }
                : { ...view, venues: toggled(venues, venue), excludedVenues: [] },
            )
          }
        />
      )}
      {isShown('markets') &&
        played.t === null &&
        coverage !== null &&
        coverage.markets.length > 0 && <MarketsPanel coverage={coverage} />}
      {isShown('difference') && vsS === null && ladder !== null && difference}
    </>
  );
}

/** Changes the view of now: an amount is complete only after a pause. */
function changeOrder(order: Partial<Order>): void {
  const { value: shown } = viewValue;
  if (shown.name === 'token') show({ ...shown, order: { ...shown.order, ...order } }, 'replace');
}
