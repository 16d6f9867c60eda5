/** Typed moments without a browser: what they leave in sight, and the way back to now. */
import { describe, expect, it } from 'vitest';
import { pinnedAt, unpinned } from '../../explorer/state/pin.js';
import { REACH_S } from '../../explorer/state/requests.js';
import { tokenView } from '../../explorer/state/url.js';

const MINT = 'So11111111111111111111111111111111111111112';

describe('a typed moment', () => {
  const NOW_S = 1_794_659_696;
  const HOUR_S = 3600;
  const DAY_S = 24 * HOUR_S;
  const view = tokenView(MINT);

  it('leaves window and zoom as they are if it is in sight', () => {
    const zoom = { fromS: -7200, toS: null, prices: null };
    const fixed = { fromS: NOW_S - 9 * DAY_S, toS: NOW_S - 7 * DAY_S };
    for (const [shown, t] of [
      [{ ...view, window: '7d' }, NOW_S - DAY_S],
      [{ ...view, window: 'all' }, NOW_S - 300 * DAY_S],
      [{ ...view, window: fixed }, NOW_S - 8 * DAY_S],
      [{ ...view, zoom }, NOW_S - HOUR_S],
      // The map can be moved beyond the window.
      [{ ...view, zoom: { ...fixed, prices: null } }, NOW_S - 8 * DAY_S],
    ] as const) {
      expect(pinnedAt(shown, t, NOW_S)).toEqual({ ...shown, atS: t });
      expect(unpinned({ ...shown, atS: t })).toEqual(shown);
    }
  });

  it('moves the map if it is out of sight, to a window that ends now; unpinning moves the map back', () => {
    const t = NOW_S - 3 * DAY_S;
    const pinned = pinnedAt(view, t, NOW_S);
    const zoom = { fromS: t - DAY_S / 2, toS: t + DAY_S / 2, prices: null };
    expect(pinned).toEqual({ ...view, window: '7d', zoom, atS: t });
    // Another moment, and a map moved by hand: the way back is the same.
    const next = pinnedAt(pinned, NOW_S - 200 * DAY_S, NOW_S);
    expect(next).toMatchObject({ window: 'all', atS: NOW_S - 200 * DAY_S });
    expect(unpinned({ ...next, zoom: { ...zoom, fromS: zoom.fromS + 9 } })).toEqual(view);
    // A window chosen since then stays, and so does another token's.
    expect(unpinned({ ...next, window: '24h', zoom: null })).toEqual({ ...view, window: '24h' });
    expect(unpinned({ ...next, address: 'x' }).window).toBe('all');
  });

  it('near now or the beginning of the history does not move the map beyond them', () => {
    const hour = { fromS: NOW_S - 9 * DAY_S, toS: NOW_S - 9 * DAY_S + HOUR_S, prices: null };
    const shown = { ...view, zoom: hour };
    expect(pinnedAt(shown, NOW_S - 60, NOW_S).zoom).toMatchObject({
      fromS: NOW_S - HOUR_S,
      toS: NOW_S,
    });
    const oldest = NOW_S - REACH_S;
    expect(pinnedAt(shown, oldest, NOW_S).zoom?.fromS).toBe(oldest);
  });
});
