/** The heatmap's props. */
import type { AddressClient } from '../../client/address-client.js';
import type { Coverage, ReplayParameters } from '../../client/index.js';
import type { Played } from '../playback/playback.js';
import type { Moment } from '../strips/reading.js';
import type { OrderKind, TokenView } from '../state/url.js';
import type { Picture } from './picture.js';
import type { MapProps } from './use-map.js';

/** Another address or filter makes another picture. */
export interface DepthHeatmapProps extends Omit<MapProps, 'source'> {
  client: AddressClient;
  /** The token's address. */
  address: string;
  filter: Pick<
    ReplayParameters,
    'group' | 'types' | 'venues' | 'exclude_venues' | 'min_pct' | 'max_pct'
  >;
  /** The moment that the page shows; null: now. */
  pinnedT: number | null;
  /** The second moment, with which the page compares it; null: none. */
  vsT: number | null;
  /** What the page knows of that moment, or of the one that playback shows; null if nothing yet. */
  moment: Moment | null;
  /** The token's coverage; null if it is not known. */
  coverage: Coverage | null;
  /** The shortest preset window, ending now, that contains `t`, and the page's address with that window. */
  windowAt: (t: number) => { name: string; href: string };
  /** Called with each moment that playback shows; null if it shows none. */
  onPlay: (played: Played | null) => void;
  /** Called with another axis or other colours. */
  onLook: (chosen: Partial<Pick<TokenView, 'colours' | 'axis'>>) => void;
  /** The orders of others to show. */
  marks: readonly OrderKind[];
  /** Whether the key has a request to spare for the cursor. */
  canSpare: () => boolean;
  /** Set to the picture while there is one. */
  pictureRef: { current: Picture | null };
}
