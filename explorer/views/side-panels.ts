/** The panels below the ladder, which are loaded after the page. */
export { OrderPanel } from './order-panel.js';
export { ScorePanel } from './score-panel.js';
export { VenueSplit } from './venue-split.js';
