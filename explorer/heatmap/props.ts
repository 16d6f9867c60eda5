/** The heatmap's props. */
import type { FathomClient, ReplayParameters, Time } from '../../client/index.js';
import type { Theme } from './palette.js';

/** Another address, window or filter is another picture. */
export interface DepthHeatmapProps {
  client: FathomClient;
  /** The token's address. */
  address: string;
  /** As in the page's URL: `{ from: '-24h', to: 'now' }`, or fixed times. One that ends now is kept up to date. */
  window: { from: Time; to: Time };
  filter: Pick<ReplayParameters, 'group' | 'types' | 'venues' | 'min_pct' | 'max_pct'>;
  theme: Theme;
  /** False while the user has paused the page: no polling then. */
  isLive: boolean;
  /** The least time between two polls. */
  reloadMs: () => number;
  /** Whether the key has a request to spare for the cursor. */
  canSpare: () => boolean;
  /** Called after zoom and pan; null: the whole window is visible. */
  onView: (time: VisibleTime | null) => void;
  /** Called with failures that end the loading. */
  onFailure: (error: unknown) => void;
}

/** The visible part of the window, in epoch seconds. */
export interface VisibleTime {
  fromS: number;
  toS: number;
}
