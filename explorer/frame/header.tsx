/** Name, search, views, limits and settings. */
import { asOfS } from '../state/clock.js';
import { absoluteTime } from '../state/format.js';
import { type Connection, connection, hasOldData } from '../state/live.js';
import {
  chooseTheme,
  chooseZone,
  isAway,
  isLive,
  key as keyValue,
  lastToken,
  theme as themeValue,
  trouble,
  view as viewValue,
} from '../state/session.js';
import {
  boardView,
  compareView,
  DEFAULT_VIEW,
  hashOf,
  ordersView,
  type TokenView,
  type View,
} from '../state/url.js';
import { useModule } from '../state/use-module.js';
import { useValue } from '../state/use-value.js';
import { fieldTime, zone, zoneLabel } from '../state/zone.js';
import { Icon } from './icon.js';
import { Search } from './search.js';

/** `more` is hidden if there is little room. */
const PLACES: readonly { label: string; more?: string; target: View }[] = [
  { label: 'Depth', target: DEFAULT_VIEW },
  { label: 'Scores', target: boardView('scores') },
  { label: 'Orders', target: boardView('orders') },
  { label: 'DCA', more: ' pressure', target: boardView('dca-pressure') },
  { label: 'DLMM', more: ' pools', target: boardView('dlmm-pools') },
  { label: 'Fee', more: ' density', target: boardView('fee-density') },
  { label: 'Whales', target: boardView('whales') },
  { label: 'Compare', target: compareView([]) },
];

export function Header() {
  const Account = useModule(loadAccount);
  const Shortcuts = useModule(loadShortcuts);
  const Alerts = useModule(loadAlerts);
  const view = useValue(viewValue);
  const key = useValue(keyValue);
  const wrong = useValue(trouble);
  const isRefused = wrong?.kind === 'key-refused';
  const hasKey = key !== null && !isRefused;
  const token = useValue(lastToken);
  const asOf = useValue(asOfS);
  const shownZone = useValue(zone);
  const theme = useValue(themeValue);
  const live = useValue(isLive);
  const followed = useValue(connection);
  const isOld = useValue(hasOldData);
  const heard = isAway(wrong) ? 'silent' : isOld && followed !== 'silent' ? 'late' : followed;
  const other = theme === 'dark' ? 'light' : 'dark';
  return (
    <header class="top">
      <a class="brand" href="#/" aria-label="Fathom">
        <Icon name="mark" />
        <span>Fathom</span>
      </a>
      {hasKey && <Search />}
      {hasKey && (
        <nav aria-label="Views">
          {PLACES.map(({ label, more, target }) => (
            <a
              key={label}
              href={hashOf(placeOf(target, token))}
              aria-current={target.name === view.name ? 'page' : undefined}
            >
              {label}
              {more !== undefined && <span class="wide-only">{more}</span>}
            </a>
          ))}
        </nav>
      )}
      <div class="tools">
        {hasKey && (
          <button
            type="button"
            class="tool live"
            data-connection={heard}
            aria-pressed={live}
            title={liveTitle(
              live,
              view.name === 'token' || heard !== 'heard' ? heard : 'none',
              asOf,
            )}
            onClick={() => isLive.set(!live)}
          >
            <span class="dot" aria-hidden="true" />
            {live ? WORDS[heard] : 'Paused'}
            {asOf !== null && <span class="wide-only note">as of {minuteOf(asOf)}</span>}
          </button>
        )}
        {hasKey && Alerts !== null && <Alerts />}
        {hasKey && Account !== null && <Account />}
        <button
          type="button"
          class="tool"
          title={`Times are shown in ${shownZone === 'utc' ? 'UTC; press for the time zone of this browser' : 'the time zone of this browser; press for UTC'}`}
          onClick={() => chooseZone(shownZone === 'utc' ? 'local' : 'utc')}
        >
          {shownZone === 'utc' ? (
            'UTC'
          ) : (
            <>
              Local<span class="wide-only"> time</span>
            </>
          )}
        </button>
        {Shortcuts !== null && <Shortcuts />}
        <button
          type="button"
          class="tool icon-only"
          aria-label={`Switch to the ${other} theme`}
          title={`Switch to the ${other} theme`}
          onClick={() => chooseTheme(other)}
        >
          <Icon name={other === 'dark' ? 'moon' : 'sun'} />
        </button>
        <a class="tool" href="/docs">
          Docs
        </a>
      </div>
      {hasKey && asOf !== null && (
        <p class="as-of note">As of {minuteOf(asOf)}: the server shows no later data</p>
      )}
    </header>
  );
}

/** Not needed before the map. */
const loadAccount = async () => (await import('./account.js')).Account;
const loadAlerts = async () => (await import('../alerts/alerts.js')).Alerts;
const loadShortcuts = async () => (await import('./shortcuts.js')).Shortcuts;

/** `late`: the server answers, but its newest snapshot is older than usual. */
type Liveness = Connection | 'late';

const WORDS: Readonly<Record<Liveness, string>> = {
  none: 'Live',
  heard: 'Live',
  late: 'Old data',
  silent: 'Not live',
};
const LIVE_TITLES: Readonly<Record<Liveness, string>> = {
  none: 'Loads new data every 15 seconds; press to pause',
  heard: 'Shows each new snapshot as it arrives; press to pause',
  late: 'The newest snapshot is older than usual, more than 3 intervals: the next one is shown as it arrives; press to pause',
  silent: 'No updates from the server: polls for new data instead; press to pause',
};

/** A view, for the token that was shown last. */
function placeOf(target: View, last: TokenView | null): View {
  if (last === null) return target;
  if (target.name === 'token') return last;
  if (target.name === 'orders') return ordersView(last.address ?? '');
  return target.name === 'compare' ? compareView([last.address ?? '']) : target;
}

function minuteOf(t: number): string {
  return `${fieldTime(t).slice(0, 16)} ${zoneLabel(t)}`;
}

function liveTitle(live: boolean, heard: Liveness, asOf: number | null): string {
  const what = live ? LIVE_TITLES[heard] : 'Paused; press to resume';
  if (asOf === null) return what;
  return `${what}. The server's clock is frozen at ${absoluteTime(asOf)}: later data are not shown.`;
}
