/** The panels beside the map, except the ladder: they are loaded after the page. */
export { MomentCard } from './moment-card.js';
export { OrderPanel } from './order-panel.js';
export { ScorePanel } from './score-panel.js';
export { VenueSplit } from './venue-split.js';
