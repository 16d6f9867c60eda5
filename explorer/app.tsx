/** The page: the header, notices, and either the view named in the address or the form for a key. */
import { CommandOpener } from './frame/command-opener.js';
import { Header } from './frame/header.js';
import { TroubleBar } from './frame/trouble-bar.js';
import { key, trouble, view as viewValue } from './state/session.js';
import { BOARD_TITLES, type View } from './state/url.js';
import { useModule } from './state/use-module.js';
import { useValue } from './state/use-value.js';
import { useEffect } from 'preact/hooks';
import { setTitle } from './state/title.js';
import { Deferred } from './frame/deferred.js';
import { TokenPage } from './views/token.js';

const TITLES = {
  ...BOARD_TITLES,
  compare: 'Compare',
  unknown: 'No such page',
} as Record<Exclude<View['name'], 'token'>, string>;
const loadKeyEntry = async () => (await import('./frame/key-entry.js')).KeyEntry;
const loadAddressNotice = async () => (await import('./frame/address-notice.js')).AddressNotice;
const loadNotFound = async () => (await import('./views/not-found.js')).NotFound;
const loadBoard = async () => (await import('./views/board.js')).Board;
const loadCompare = async () => (await import('./compare/compare-page.js')).default;

export function App() {
  const view = useValue(viewValue);
  const current = useValue(key);
  const isRefused = useValue(trouble)?.kind === 'key-refused';
  const AddressNotice = useModule(loadAddressNotice);
  const needsKey = current === null || isRefused;
  useEffect(() => {
    if (needsKey) setTitle('API key');
    // Pages of tokens set the title themselves.
    else if (view.name !== 'token') setTitle(TITLES[view.name]);
  }, [view.name, needsKey]);
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Header />
      {!needsKey && <CommandOpener />}
      <TroubleBar />
      {!needsKey && AddressNotice !== null && <AddressNotice />}
      <main id="main" tabIndex={-1} data-view={view.name}>
        {needsKey ? (
          <Deferred key="key" load={loadKeyEntry} props={{}} />
        ) : view.name === 'token' ? (
          <TokenPage view={view} />
        ) : view.name === 'unknown' ? (
          <Deferred key="notfound" load={loadNotFound} props={{ view }} />
        ) : view.name === 'compare' ? (
          <Deferred key="compare" load={loadCompare} props={{ view }} />
        ) : (
          <Deferred key="board" load={loadBoard} props={{ view }} />
        )}
      </main>
    </>
  );
}

/** The fragment names the view, so the link must not change it. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}
