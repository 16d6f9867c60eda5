/** Name, search, views, limits and settings. */
import { boardView, DEFAULT_VIEW, hashOf, type View } from '../state/url.js';
import { chooseTheme, isLive, theme as themeValue, view as viewValue } from '../state/session.js';
import { useValue } from '../state/value.js';
import { Account } from './account.js';
import { Icon } from './icon.js';
import { Search } from './search.js';

const PLACES: readonly { label: string; target: View }[] = [
  { label: 'Depth', target: DEFAULT_VIEW },
  { label: 'Scores', target: boardView('scores') },
  { label: 'DCA pressure', target: boardView('dca-pressure') },
  { label: 'DLMM pools', target: boardView('dlmm-pools') },
  { label: 'Fee density', target: boardView('fee-density') },
  { label: 'Whales', target: boardView('whales') },
];

export function Header() {
  const view = useValue(viewValue);
  const theme = useValue(themeValue);
  const live = useValue(isLive);
  const other = theme === 'dark' ? 'light' : 'dark';
  return (
    <header class="top">
      <a class="brand" href="#/">
        <Icon name="mark" />
        Fathom
      </a>
      <Search />
      <nav aria-label="Views">
        {PLACES.map(({ label, target }) => (
          <a
            key={label}
            href={hashOf(target)}
            aria-current={target.name === view.name ? 'page' : undefined}
          >
            {label}
          </a>
        ))}
      </nav>
      <div class="tools">
        <button
          type="button"
          class="tool live"
          aria-pressed={live}
          title={live ? 'Updates by itself; press to pause' : 'Paused; press to resume'}
          onClick={() => isLive.set(!live)}
        >
          <span class="dot" aria-hidden="true" />
          {live ? 'Live' : 'Paused'}
        </button>
        <Account />
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
          API
        </a>
      </div>
    </header>
  );
}
