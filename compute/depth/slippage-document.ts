/** The reply about the cost of an order. */
import { type DocumentForm, encodeDocument, type EncodedDocument } from '../documents.js';
import type { Chain } from '../market.js';
import { onlyListed } from '../replay/names.js';
import { bytesOfGroup, type PageGroup } from '../replay/query.js';
import {
  type LadderInput,
  type OrderCost,
  orderLadder,
  type OrderSide,
  type Slippage,
  slippage,
  type SlippageAmounts,
} from './slippage.js';

/** What the reply repeats of the request. */
export interface SlippageRequestFields extends SlippageAmounts {
  /** The reply's first fields. */
  named: { token: string; chain: Chain; resolved_token?: string; venues_not_found?: string[] };
  side: OrderSide;
}

/** The answer for one snapshot. */
interface SlippageAnswer {
  t: number;
  priceUsd: number;
  /** By venue. */
  groups: readonly PageGroup[];
  found: Slippage;
}

/** @param answer null if there is no snapshot */
export function slippageDocument(
  { named, side, usd, movePct }: SlippageRequestFields,
  answer: SlippageAnswer | null,
) {
  const { t, priceUsd, groups, found } = answer ?? NO_ANSWER;
  // Field by field: V8 takes several times as long for objects with spread fields. Undefined ones are not encoded.
  return {
    token: named.token,
    chain: named.chain,
    resolved_token: named.resolved_token,
    venues_not_found: named.venues_not_found,
    t,
    price_usd: priceUsd,
    side,
    fillable_usd: found.fillableUsd,
    quotes: found.costs.map((cost, i) => ({
      usd: usd[i],
      filled: cost.filled,
      average_price_usd: cost.averagePriceUsd,
      end_price_usd: cost.endPriceUsd,
      slippage_pct: cost.slippagePct,
      best_pct: cost.bestPct,
      worst_pct: cost.worstPct,
      venues: venuesOf(cost, groups),
    })),
    moves: found.moves.map((amount, i) => ({ move_pct: movePct[i], usd: amount })),
  };
}

const NO_ANSWER = {
  t: null,
  priceUsd: null,
  groups: [],
  found: { fillableUsd: null, costs: [], moves: [] },
};

/** The venues that contribute, largest first. */
function venuesOf({ venueUsd }: OrderCost, groups: readonly PageGroup[]) {
  const venues: (PageGroup & { usd: number })[] = [];
  groups.forEach(({ key, label, type }, venue) => {
    const usd = venueUsd[venue];
    if (usd > 0) venues.push({ key, label, type, usd });
  });
  return venues.sort((a, b) => b.usd - a.usd || (a.key < b.key ? -1 : 1));
}

/** Everything from which a reply about a snapshot is made. */
interface SlippageReplyInput extends FindInput {
  groups: readonly PageGroup[];
  form: DocumentForm;
}

interface FindInput {
  fields: SlippageRequestFields;
  input: LadderInput;
}

/** The encoded reply: a task of the pool. */
export function slippageReply({ groups, form, ...find }: SlippageReplyInput): EncodedDocument {
  const { fields, input } = find;
  const { t, priceUsd } = input.cells;
  return encodeSlippage({
    fields,
    form,
    answer: { t, priceUsd, groups, found: findSlippage(find) },
  });
}

/** The first half of slippageReply(), which needs no names. */
export function findSlippage({ fields, input }: FindInput): Slippage {
  return slippage(orderLadder(input), fields);
}

/** The second half of slippageReply(). */
export function encodeSlippage({
  fields,
  answer,
  form,
}: {
  fields: SlippageRequestFields;
  answer: SlippageAnswer;
  form: DocumentForm;
}): EncodedDocument {
  const { plain, body } = encodeDocument(slippageDocument(fields, answer), form);
  // The encoded body shares its memory with other bytes.
  return { plain, body: new Uint8Array(body) };
}

/** Bytes of an item of `venues` besides its names, at least. */
const VENUE_BYTES = 48;

/** Which names the reply lists, and the least bytes of all of its `venues`. */
export function namesOfSlippage(
  { costs }: Slippage,
  groups: readonly PageGroup[],
): { groups: PageGroup[]; bytes: number } {
  const times = new Uint8Array(groups.length);
  for (const { venueUsd } of costs) {
    for (let venue = 0; venue < times.length; venue++) if (venueUsd[venue] > 0) times[venue]++;
  }
  let bytes = 0;
  times.forEach((count, venue) => {
    if (count > 0) bytes += count * (bytesOfGroup(groups[venue]) + VENUE_BYTES);
  });
  return { groups: onlyListed(groups, (venue) => times[venue] > 0), bytes };
}
