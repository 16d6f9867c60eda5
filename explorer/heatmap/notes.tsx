/** What the map's picture leaves out. It is loaded after the map. */
import { age } from '../state/format.js';
import { LN_BIN } from './columns.js';
import { stepName } from './detail.js';
import type { Picture } from './picture.js';
import { timeText } from './ticks.js';
import type { View } from './view.js';

/** A notice is shown if the history covers less than this share of the window. */
const SHORT_SHARE = 0.97;
/** With fewer 1% steps in sight than this, the map says that there is nothing finer. */
const COARSE_STEPS = 12;
const STEP_TEXTS = {
  '1m': 'minute',
  '5m': '5 minutes',
  '15m': '15 minutes',
  '1h': 'hour',
  '4h': '4 hours',
  '1d': 'day',
} as const;

/** What the picture leaves out, and why. */
export function Notes({ picture, view, spanS }: { picture: Picture; view: View; spanS: number }) {
  const { window } = picture;
  if (window === null) return null;
  const held = picture.shotsIn(view);
  const stepS = held.reduce((longest, one) => Math.max(longest, one.stepS), 0);
  const hasS = window.to - window.from;
  const isCoarse = view.lnHigh - view.lnLow < COARSE_STEPS * LN_BIN;
  return (
    <span class="heatmap-notes">
      {hasS < SHORT_SHARE * spanS && (
        <b>
          {age(hasS)} of {age(spanS)}: history begins {timeText(window.from)}
        </b>
      )}
      {stepS > 0 && (
        <span>A snapshot every {STEP_TEXTS[stepName(stepS) ?? '1d']}; zoom in for more</span>
      )}
      {isCoarse && <span>Depth is stored in steps of 1%; nothing finer is drawn</span>}
    </span>
  );
}
