/** The explorer's start. */
import { render } from 'preact';
import './styles/theme.css';
import './styles/page.css';
import { App } from './app.js';

render(<App />, document.getElementById('app') as HTMLElement);
