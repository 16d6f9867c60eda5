/** What the page and the heatmap say to each other. */
import type { FathomClient, ReplayPage, Time } from '../../client/index.js';

/** What is shown; another address, window or filter is another picture. */
export interface DepthHeatmapProps {
  client: FathomClient;
  /** The token's address. */
  address: string;
  /** As in the page's URL: `{ from: '-24h', to: 'now' }`, or fixed times. One that ends now goes on by polling. */
  window: DepthWindow;
  filter: DepthFilter;
  theme: 'light' | 'dark';
  /** False while the page's user has paused it: no polling then. */
  isLive: boolean;
  /** How often at most it asks for what is new. */
  renewalMs: () => number;
  /** Whether the key has a request left for what the cursor only passes. */
  canSpare: () => boolean;
  /** Each page's facets and markets as it arrives, so that the page offers types and venues. */
  onPage?: (page: Omit<ReplayPage, 'snapshots'>) => void;
  /** The part of the window in sight, in epoch seconds, after zoom and pan; null: all of it. */
  onView?: (view: { fromS: number; toS: number } | null) => void;
  /** What is under the pointer or the keyboard's cursor; null: nothing. */
  onHover?: (hover: DepthHover | null) => void;
  /** Failures that end the loading; the page shows them with a button that tries again. */
  onFailure?: (error: unknown) => void;
}

export interface DepthWindow {
  from: Time;
  to: Time;
}

/** Absent: no filter. Names as the parameters of `/replay/:address`. */
export interface DepthFilter {
  group: 'market' | 'venue' | 'type' | 'all';
  types?: readonly string[];
  venues?: readonly string[];
  min_pct?: number;
  max_pct?: number;
}

export interface DepthHover {
  /** Time of the snapshot, epoch seconds. */
  t: number;
  /** The snapshot's price, and that of the bin under the pointer. */
  priceUsd: number;
  binPriceUsd: number;
  supportUsd: number;
  resistanceUsd: number;
}
