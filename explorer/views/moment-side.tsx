/** The panels beside the map: the moment, its ladder, an order's cost, the score, the venues and the markets. */
import type { Coverage } from '../../client/index.js';
import { Loading } from '../frame/states.js';
import { NEAR_PCT } from '../ladder/ladder.js';
import { absoluteTime } from '../state/format.js';
import { type Band, REACHES_PCT, type TokenView } from '../state/url.js';
import { hiddenPanels } from '../state/layout.js';
import { useModule } from '../state/use-module.js';
import { useValue } from '../state/use-value.js';
import type { ShownMoment } from './use-moment.js';
import type { PlayedMoment } from './use-played.js';

export interface MomentSideProps {
  address: string;
  view: TokenView;
  requested: ShownMoment;
  played: PlayedMoment;
  /** Null if it is not known. */
  coverage: Coverage | null;
  onNow: () => void;
  /** @param how as in show() */
  onChange: (next: TokenView, how?: 'replace') => void;
}

/** The ladder reaches as far as the map's band, but usually not beyond what counts as near. */
export function usualReach({ minPct, maxPct }: Band): number {
  const widest = Math.max(-minPct, maxPct);
  return Math.min(NEAR_PCT, REACHES_PCT.find((one) => one >= widest) ?? NEAR_PCT);
}

export function MomentSide(props: MomentSideProps) {
  const { view, requested, played, onNow, onChange } = props;
  const { score, scored, failure, t: dataT } = requested;
  const { ladder, t: shownT, isMoving } = played;
  const hidden = useValue(hiddenPanels);
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
      {hidden.includes('ladder') ? null : ladder !== null && panels !== null ? (
        <panels.DepthChart
          ladder={ladder}
          usualPct={usualReach(view.band)}
          chosenPct={view.reachPct}
          onChoose={(reachPct) => onChange({ ...view, reachPct }, 'replace')}
        />
      ) : (
        failure === null &&
        (score === null || dataT !== null) && (
          <section class="card">
            <Loading what="the ladder" />
          </section>
        )
      )}
      {panels !== null && <panels.SidePanels {...props} />}
    </aside>
  );
}
