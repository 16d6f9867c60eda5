/** The panels beside the map, except the ladder: they are loaded after the page. */
import { filterOf } from '../state/requests.js';
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
        <OrderPanel address={address} t={t} atS={atS} filter={filterOf(view)} />
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
