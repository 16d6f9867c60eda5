/** The heatmap's props. */
import type { FathomClient, ReplayParameters, Time } from '../../client/index.js';
import type { Played } from '../playback/playback.js';
import type { Zoom } from '../state/url.js';
import type { TimeWindow } from './detail.js';
import type { Theme } from './palette.js';
import type { Picture } from './picture.js';

/** Another address, window or filter is another picture. */
export interface DepthHeatmapProps {
  client: FathomClient;
  /** The token's address. */
  address: string;
  /** As in the page's URL: `{ from: '-24h', to: 'now' }`, or fixed times. One that ends now is kept up to date. */
  window: { from: Time; to: Time };
  /** The length of the window in seconds, about. */
  spanS: number;
  /** The time that the token has history of; null: not known yet. */
  reach: TimeWindow | null;
  /** What is in sight of the window; null: all of it. */
  zoom: Zoom | null;
  /** The moment that the page tells of; null: now. */
  pinnedT: number | null;
  /** Called with the moment that the page shall tell of. */
  onPin: (t: number | null) => void;
  /** Called with each moment that playback shows; null: it shows none. */
  onPlay: (played: Played | null) => void;
  filter: Pick<ReplayParameters, 'group' | 'types' | 'venues' | 'min_pct' | 'max_pct'>;
  theme: Theme;
  /** False while the user has paused the page: no polling then. */
  isLive: boolean;
  /** The least time between two polls. */
  reloadMs: () => number;
  /** Whether the key has a request to spare for the cursor. */
  canSpare: () => boolean;
  /** Is given the picture while there is one. */
  pictureRef: { current: Picture | null };
  /** Called after zoom and pan. */
  onZoom: (zoom: Zoom | null) => void;
  /** Called with failures that end the loading. */
  onFailure: (error: unknown) => void;
}
