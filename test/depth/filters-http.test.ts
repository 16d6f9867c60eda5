/** What the filters of GET /slippage/:address and GET /depth-series/:address choose. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { PlainMarket } from '../reference/replay.js';
import type { Json } from '../support/conformance.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MARKETS, MINT, NOW_S, heldService, steadyStore } from '../support/service.js';

/** A multiple of the series' step, so that a point lies on the snapshot. */
const T = Math.floor(NOW_S / 60) * 60;
const STORE = steadyStore(1, 20, { lastT: T });
const depth = new MemoryDepth().add('mainchain', MINT, STORE);
const service = await heldService({ depth });

const TYPES = ['onchain_pool', 'onchain_limit_order', 'cex_spot', 'cex_perp'];
const ONCHAIN = 'onchain_pool,onchain_limit_order';
const VENUES = ['orca', 'constant-product', 'phoenix-v1', 'binance', 'binance-perps', 'openbook'];

interface Filter {
  types?: readonly string[];
  venues?: readonly string[];
  exclude_types?: readonly string[];
  exclude_venues?: readonly string[];
}

const some = (items: readonly string[]) => fc.subarray([...items], { minLength: 1 });
const filter: fc.Arbitrary<Filter> = fc
  .tuple(
    fc.oneof(
      fc.constant({}),
      some(TYPES).map((types) => ({ types })),
      some(TYPES).map((exclude_types) => ({ exclude_types })),
    ),
    fc.oneof(
      fc.constant({}),
      some(VENUES).map((venues) => ({ venues })),
      some(VENUES).map((exclude_venues) => ({ exclude_venues })),
    ),
  )
  .map(([byType, byVenue]) => ({ ...byType, ...byVenue }));

const PERPS = { type: 'cex_perp', venue: 'binance-perps' };
const namesPerps = ({ types, venues }: Filter): boolean =>
  (types?.includes(PERPS.type) ?? false) || (venues?.includes(PERPS.venue) ?? false);

function isKept(market: PlainMarket, of: Filter): boolean {
  const venue = market.source.toLowerCase().replace(' ', '-');
  if (of.types !== undefined && !of.types.includes(market.type)) return false;
  if (of.venues !== undefined && !of.venues.includes(venue)) return false;
  if (of.exclude_types?.includes(market.type) || of.exclude_venues?.includes(venue)) return false;
  return market.type !== PERPS.type || namesPerps(of);
}

/** Support and resistance of the kept markets, USD. */
function plainDepth(of: Filter): [number, number] {
  const [{ cells }] = STORE.snapshots;
  const kept = cells.filter(({ market }) => isKept(MARKETS[market], of));
  const usd = (side: 'support' | 'resistance') =>
    Number(kept.reduce((sum, cell) => sum + cell[side], 0n)) / 100;
  return [usd('support'), usd('resistance')];
}

/** The venues of a filter that the token does not have. */
const notFound = (of: Filter): string[] =>
  [...(of.venues ?? []), ...(of.exclude_venues ?? [])].filter((venue) =>
    MARKETS.every((market) => market.source.toLowerCase().replace(' ', '-') !== venue),
  );

/** The numbers of a reply, which must also name the venues that were not found. */
async function named(of: Filter, path: string): Promise<Json> {
  const document = await reply(`${path}${queryOf(of)}`);
  expect(document.venues_not_found ?? []).toEqual(notFound(of));
  return document;
}

/** Support and resistance that an endpoint counts, USD. */
type Depth = (of: Filter) => Promise<[number, number]>;

const queryOf = (of: Filter): string =>
  Object.entries(of)
    .filter(([, list]) => list !== undefined)
    .map(([name, list]: [string, readonly string[]]) =>
      // Another spelling of the same.
      name === 'types' && list.join() === ONCHAIN ? '&onchain=true' : `&${name}=${list.join()}`,
    )
    .join('');

async function reply(path: string): Promise<Json> {
  const response = await service.get(path);
  expect(response.status).toBe(200);
  return (await response.json()) as Json;
}

const ENDPOINTS: [string, Depth][] = [
  [
    '/slippage',
    async (of) => {
      const side = async (name: string): Promise<number> =>
        (await named(of, `/slippage/${MINT}?side=${name}&move_pct=1`)).fillable_usd as number;
      return [await side('sell'), await side('buy')];
    },
  ],
  [
    '/depth-series',
    async (of) => {
      const window = `from=${T}&to=${T + 1}&step=1m&pct=100`;
      const series = await named(of, `/depth-series/${MINT}?${window}`);
      return [series.support_usd[0][0], series.resistance_usd[0][0]];
    },
  ],
];

it.each(ENDPOINTS)('%s counts perps only if types or venues name them', async (_, depthOf) => {
  await fc.assert(
    fc.asyncProperty(filter, async (of) => {
      expect(await depthOf(of)).toEqual(plainDepth(of));
    }),
    { numRuns: 60, examples: [[{ exclude_venues: ['openbook'] }], [{ exclude_types: TYPES }]] },
  );
});

it.each(ENDPOINTS)('no filter adds depth to that of %s', async (_, depthOf) => {
  const whole = await depthOf({});
  await fc.assert(
    fc.asyncProperty(filter, async (of) => {
      const [support, resistance] = await depthOf(of);
      // Naming perps is the one way to count them.
      const keeping = { ...of, exclude_types: undefined, exclude_venues: undefined };
      const bound = namesPerps(of) ? await depthOf(keeping) : whole;
      expect(support).toBeLessThanOrEqual(bound[0]);
      expect(resistance).toBeLessThanOrEqual(bound[1]);
    }),
    { numRuns: 60, examples: [[{ exclude_venues: ['openbook'] }]] },
  );
});
