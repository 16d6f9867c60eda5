/** What the explorer calls the files and pictures that it exports. */
import { describe, expect, it } from 'vitest';
import { boardFileName, fileNameOf, titleOf } from '../../explorer/export/depth-name.js';
import { spanInSight } from '../../explorer/state/requests.js';
import { tokenView } from '../../explorer/state/url.js';

const MINT = 'So11111111111111111111111111111111111111112';

describe('an export of depth', () => {
  const view = tokenView(MINT);
  const part = { supportUsd: 0, resistanceUsd: 0 };
  const choices = {
    types: [{ key: 'cex_spot', label: 'CEX spot', ...part }],
    venues: [{ key: 'orca', label: 'Orca', ...part }],
  };
  const span = spanInSight({ window: '24h', zoom: null }, null, 1_795_701_600);

  it.each([
    [{}, 'SOL depth', 'SOL-depth_20261125T1400Z_20261126T1400Z'],
    [
      { types: ['cex_spot'], venues: ['orca', 'new'] },
      'SOL depth: CEX spot; Orca, new',
      'SOL-depth_20261125T1400Z_20261126T1400Z_cex-spot_orca_new',
    ],
    [
      { venues: ['a', 'b', 'c', 'd', 'e', 'f'], band: { minPct: -5, maxPct: 5 } },
      'SOL depth: a, b, c, d, 2 more; within 5% of the price',
      'SOL-depth_20261125T1400Z_20261126T1400Z_a_b_c_d_2-more_-5..5pct',
    ],
    [
      { band: { minPct: -5, maxPct: 10 } },
      'SOL depth: \u22125% to +10% of the price',
      'SOL-depth_20261125T1400Z_20261126T1400Z_-5..10pct',
    ],
  ] as const)('says what of it is shown: %j', (filter, title, name) => {
    const shown = { ...view, ...filter };
    expect(titleOf('SOL', shown, choices)).toBe(title);
    expect(fileNameOf('SOL', shown, span)).toBe(name);
  });

  it('has the times in sight', () => {
    const nowS = 1_795_701_600;
    const zoom = { prices: null, fromS: -600, toS: null };
    expect(spanInSight({ window: '24h', zoom }, 5, nowS)).toEqual({ fromS: nowS - 600, toS: nowS });
    const fixed = { prices: null, fromS: 7, toS: 9 };
    expect(spanInSight({ window: '24h', zoom: fixed }, 5, nowS)).toEqual({ fromS: 7, toS: 9 });
    expect(spanInSight({ window: 'all', zoom: null }, 5, nowS)).toEqual({ fromS: 5, toS: nowS });
    const window = { fromS: 1, toS: 2 };
    expect(spanInSight({ window, zoom: null }, 5, nowS)).toEqual(window);
  });
});

it("a board's file says when its rows were loaded", () => {
  expect(boardFileName('dca-pressure', 1_795_701_659)).toBe('dca-pressure_20261126T1400Z');
});
