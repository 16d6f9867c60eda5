/** The page: the header, notices, and the view that the address names or the form for a key. */
import { Header } from './frame/header.js';
import { KeyEntry } from './frame/key-entry.js';
import { TroubleBar } from './frame/trouble-bar.js';
import { key, trouble, view as viewValue } from './state/session.js';
import { useValue } from './state/value.js';
import { Board } from './views/board.js';
import { TokenPage } from './views/token.js';

export function App() {
  const view = useValue(viewValue);
  const current = useValue(key);
  const isRefused = useValue(trouble)?.kind === 'key-refused';
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Header />
      <TroubleBar />
      <main id="main" tabIndex={-1} data-view={view.name}>
        {current === null || isRefused ? (
          <KeyEntry />
        ) : view.name === 'token' ? (
          <TokenPage view={view} />
        ) : (
          <Board key={view.name} view={view} />
        )}
      </main>
    </>
  );
}

/** The fragment is the view, so the link must not change it. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}
