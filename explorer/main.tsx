/** The explorer's start. */
import { render } from 'preact';
import './styles/theme.css';
import './styles/page.css';
import './styles/controls.css';
import './styles/cards.css';
import './styles/states.css';
import './styles/frame.css';
import './styles/dialogs.css';
import './styles/token.css';
import './styles/board.css';
import { App } from './app.js';
import { startSession } from './state/session.js';
import { watchVersion } from './state/version.js';

startSession();
watchVersion();
render(<App />, document.getElementById('app') as HTMLElement);
// Not needed before the first page. Without it, the browser keeps places as well as it can.
import('./state/places.js').then(
  ({ keepPlaces }) => keepPlaces(),
  () => undefined,
);
