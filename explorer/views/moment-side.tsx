/** The panels beside the map: the moment, its ladder, an order's cost, the score and the venues. */
import { Loading } from '../frame/states.js';
import { DepthChart } from '../ladder/depth-chart.js';
import { absoluteTime } from '../state/format.js';
import { filterOf } from '../state/requests.js';
import type { TokenView } from '../state/url.js';
import { useModule } from '../state/use-module.js';
import { toggled } from './filters.js';
import type { ShownMoment } from './use-moment.js';
import type { PlayedMoment } from './use-played.js';

interface MomentSideProps {
  address: string;
  view: TokenView;
  requested: ShownMoment;
  played: PlayedMoment;
  onNow: () => void;
  onChange: (next: TokenView) => void;
}

export function MomentSide(props: MomentSideProps) {
  const { address, view, requested, played, onNow, onChange } = props;
  const { score, scored, failure, t: dataT } = requested;
  const { ladder, t: shownT, isMoving } = played;
  const { venues } = view;
  const panels = useModule(() => import('./side-panels.js'));
  return (
    <aside
      class={isMoving ? 'side is-moving' : 'side'}
      aria-label={shownT === null ? 'Now' : `At ${absoluteTime(shownT)}`}
      aria-busy={isMoving || (scored === null && failure === null)}
    >
      {panels !== null && (
        <panels.MomentCard
          {...{ shownT, isMoving, dataT, failure, onNow }}
          isAnswered={scored !== null}
        />
      )}
      {ladder !== null ? (
        <DepthChart ladder={ladder} />
      ) : (
        failure === null &&
        (score === null || dataT !== null) && (
          <section class="card">
            <Loading what="the ladder" />
          </section>
        )
      )}
      {panels !== null && requested.ladder !== null && (
        <panels.OrderPanel address={address} t={dataT} atS={view.atS} filter={filterOf(view)} />
      )}
      {panels !== null && score !== null && <panels.ScorePanel score={score} />}
      {panels !== null && ladder !== null && (ladder.parts.length > 0 || venues.length > 0) && (
        <panels.VenueSplit
          ladder={ladder}
          chosen={venues}
          onToggle={(venue) => onChange({ ...view, venues: toggled(venues, venue) })}
        />
      )}
    </aside>
  );
}
