/** `token_depth`: support and resistance around the price, now or at a time, by venue. */
import type { ReplayPage } from '../../../client/index.js';
import { binsOfBand } from '../../../compute/ladder.js';
import { MARKET_TYPES } from '../../../compute/market.js';
import { number, text, usd } from '../../api/schemas.js';
import Type from '../../api/type.js';
import { tableLines } from '../answer.js';
import { at, MARKETS, timeText, token } from '../arguments.js';
import { ToolError } from '../failures.js';
import { SNAPSHOT_FIELDS, snapshotFields, snapshotLine } from '../snapshot.js';
import { answeredToken, resolvedNotes } from '../tokens.js';
import { defineTool } from '../tool.js';
import { name, percent, usd as usdText } from '../words.js';
import { marketNotes } from './slippage.js';

const MAX_BANDS = 10;
/** The ladder ends there. */
const MAX_PCT = 90;
const USUAL_PCT = [1, 2, 5, 10];
const USUAL_VENUE_PCT = 2;
/** Support above the price and resistance below it count, too. */
const WHOLE_LADDER = { min_pct: -90, max_pct: 1000 };
const NO_PERPS = MARKET_TYPES.filter((type) => type !== 'cex_perp');

const amounts = {
  support_usd: usd('What buyers offer to pay there (bids)'),
  resistance_usd: usd('What sellers ask for there (asks)'),
};

export const tokenDepth = defineTool({
  name: 'token_depth',
  title: 'Market depth',
  description:
    'Depth of a token now or at a past time: support (bids) and resistance (asks) in USD within some percents of the price, ' +
    'over all markets and by venue.',
  input: {
    token,
    at,
    pct: Type.Optional(
      Type.Array(Type.Number(), {
        maxItems: MAX_BANDS,
        description: `Distances from the price, percent, above 0 and up to ${MAX_PCT}. Default: ${USUAL_PCT.join(', ')}.`,
      }),
    ),
    venue_pct: Type.Optional(
      Type.Number({
        description: `The distance within which venues are listed, percent. Default: ${USUAL_VENUE_PCT}.`,
      }),
    ),
    ...MARKETS,
  },
  output: {
    ...SNAPSHOT_FIELDS,
    depth: Type.Array(
      Type.Object({ within_pct: number('Distance from the price, percent.'), ...amounts }),
    ),
    venues_within_pct: number('Distance from the price of the depth of venues, percent.'),
    venues: Type.Array(
      Type.Object({ venue: Type.String(), type: text('Type of its markets.'), ...amounts }),
    ),
  },
  async run({ types, venues, ...given }, call) {
    const { pct = USUAL_PCT, venue_pct: venuePct = USUAL_VENUE_PCT } = given;
    for (const [field, one] of [
      ...pct.map((each) => ['pct', each] as const),
      ['venue_pct', venuePct] as const,
    ]) {
      if (one > 0 && one <= MAX_PCT) continue;
      throw new ToolError(`${field}: expected percents above 0 and up to ${MAX_PCT}; was ${one}.`);
    }
    const requested = await call.client.findToken(given.token, call);
    const { address } = requested;
    const { client } = call;
    const kept = { types: types ?? (venues === undefined ? NO_PERPS : undefined), venues };
    // It names the snapshot at or before a time; replay then has its cells.
    const snapshot = await client.getSlippage(
      { address, side: 'sell', move_pct: [1], at: timeText(given.at) },
      call,
    );
    const found = answeredToken(requested, snapshot);
    const { t } = snapshot;
    const page =
      t === null
        ? null
        : await client.getReplay(
            { address, from: t, to: t + 1, group: 'venue', ...WHOLE_LADDER, ...kept },
            call,
          );
    const depth = pct.map((within) => ({ within_pct: within, ...sumsOf(page, within) }));
    const byVenue = (page?.groups ?? [])
      .map(({ label, type }, i) => ({ venue: name(label), type, ...sumsOf(page, venuePct, i) }))
      .filter((venue) => venue.support_usd + venue.resistance_usd > 0)
      .sort((a, b) => b.support_usd + b.resistance_usd - a.support_usd - a.resistance_usd);
    const missing = page?.filter.venues_not_found ?? [];
    return {
      head: [
        snapshotLine(found, snapshot),
        ...(t === null
          ? []
          : tableLines({
              columns: ['within', 'support (bids)', 'resistance (asks)'],
              rows: depth.map((band) => [
                percent(band.within_pct),
                usdText(band.support_usd),
                usdText(band.resistance_usd),
              ]),
            })),
        ...(byVenue.length === 0 ? [] : [`Venues, within ${percent(venuePct)}:`]),
      ],
      list: {
        field: 'venues',
        noun: 'venues',
        less: 'types or venues',
        columns: ['venue', 'type', 'support', 'resistance'],
        rows: byVenue.map((venue) => [
          venue.venue,
          venue.type,
          usdText(venue.support_usd),
          usdText(venue.resistance_usd),
        ]),
      },
      foot: [
        ...resolvedNotes(requested, snapshot),
        ...(t === null
          ? []
          : ['Depth is known in steps of 1% of the price.', ...marketNotes(types, venues)]),
        ...(missing.length === 0
          ? []
          : [`No depth at that time: ${missing.map(name).join(', ')}.`]),
      ],
      data: {
        ...snapshotFields(found, snapshot),
        depth,
        venues_within_pct: venuePct,
        venues: byVenue,
      },
    };
  },
});

/** Support and resistance within a distance of the price, of all groups or of one (docs/definitions.md#depth-series). */
function sumsOf(page: ReplayPage | null, pct: number, group: number | null = null) {
  const { first, last } = binsOfBand(-pct, pct);
  let [support, resistance] = [0, 0];
  for (const { bin, group_idx = [], support_usd, resistance_usd } of page?.snapshots ?? []) {
    for (const [i, own] of bin.entries()) {
      if (group !== null && group_idx[i] !== group) continue;
      if (own >= first) support += support_usd[i];
      if (own <= last) resistance += resistance_usd[i];
    }
  }
  return { support_usd: cents(support), resistance_usd: cents(resistance) };
}

/** Sums of cents, without the errors of adding doubles. */
const cents = (usdSum: number): number => Math.round(usdSum * 100) / 100;
