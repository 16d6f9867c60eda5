import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Market } from '../../compute/market.js';
import { hasLongNames, marketsOfPage, namesOfPage } from '../../compute/replay/names.js';
import {
  drawPage,
  namePage,
  namesListed,
  type PageInput,
  pageHead,
} from '../../compute/replay/page.js';
import { factsOfMarkets, growingFacts } from '../../compute/replay/query.js';
import type { PlainRequest, PlainStore } from '../reference/replay.js';
import { envelopeOf, plainRequest, queryOf, requests, runsOf, stores } from './replay-stores.js';

const utf8 = (texts: readonly (string | null)[]): number =>
  new TextEncoder().encode(texts.join('')).length;

/** The whole store as one page, and the same page whose names are added once it is known which ones it lists. */
function bothPages(store: PlainStore, request: PlainRequest) {
  const query = queryOf(request);
  const { runs, placeOf } = runsOf(store, 3);
  const places = [...placeOf.values()];
  const markets = marketsOfPage(store.markets, query);
  if (markets.names === null) throw new Error('the names are long');
  const input: PageInput = {
    runs,
    selection: { run: places.map(({ run }) => run), row: places.map(({ row }) => row) },
    markets: { ...markets, names: null },
    query,
    windowContinues: false,
  };
  const drawn = drawPage(input);
  const { names, bytes } = namesOfPage(store.markets, query, namesListed(drawn, markets));
  return {
    atOnce: namePage(drawn, markets, markets.names),
    later: namePage(drawn, markets, names),
    names,
    bytes,
  };
}

describe('the names of a page', () => {
  it('may be added later, and are only those that it lists', () => {
    let listed = 0;
    fc.assert(
      fc.property(stores, requests, (store, request) => {
        const { atOnce, later, names, bytes } = bothPages(store, request);
        const head = pageHead(later, envelopeOf(request));
        expect(head).toEqual(pageHead(atOnce, envelopeOf(request)));
        expect(names.markets).toHaveLength(head.markets.length);
        const venues = head.facets?.venues ?? [];
        expect(names.venues.filter(({ key }) => key !== '')).toHaveLength(venues.length);
        expect(bytes).toBe(
          utf8(head.markets.flatMap(({ source, address, pair }) => [source, address, pair])) +
            utf8(venues.flatMap(({ key, label }) => [key, label])),
        );
        listed += bytes;
      }),
      { numRuns: 300 },
    );
    expect(listed).toBeGreaterThan(10_000);
  });

  it('are counted as UTF-8, at once or in parts', () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 });
    const market: fc.Arbitrary<Market> = fc.record({
      source: name.map((text) => `a${text}`),
      exchangeType: fc.constant('DEX'),
      type: fc.constantFrom('onchain_pool', 'onchain_limit_order'),
      address: fc.option(name),
      pair: fc.option(name),
    });
    fc.assert(
      fc.property(fc.array(market), fc.integer({ min: 1, max: 9 }), (markets, step) => {
        const facts = factsOfMarkets(markets);
        const bytes = markets.map(({ source, address, pair }) => utf8([source, address, pair]));
        expect([...facts.marketBytes]).toEqual(bytes);
        expect(facts.bytes).toBe(bytes.reduce((sum, own) => sum + own, 0));
        const again = [...markets];
        while (growingFacts(again).advance(step));
        expect(factsOfMarkets(again)).toEqual(facts);
      }),
    );
  });

  it('are sent along unless they are longer than 1 MiB', () => {
    const marketsOf = (count: number): Market[] =>
      Array.from({ length: count }, (_, m) => ({
        source: `v${m}`.padEnd(128, '.'),
        exchangeType: 'DEX',
        type: 'onchain_pool',
        address: `${m}`.padEnd(128, '.'),
        pair: null,
      }));
    for (const [count, isLong] of [
      [4096, false],
      [4097, true],
    ] as const) {
      const markets = marketsOf(count);
      expect(hasLongNames(markets)).toBe(isLong);
      const { names } = marketsOfPage(markets, queryOf(plainRequest(0, 1)));
      expect(names === null).toBe(isLong);
      const bare = marketsOfPage(markets, queryOf(plainRequest(0, 1, { group: 'all' })));
      expect(bare).toMatchObject({ names: { markets: [], groups: [], venues: [] } });
    }
  });
});
