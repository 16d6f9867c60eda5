/** The reply about the cost of an order. */
import { type DocumentForm, encodeDocument, type EncodedDocument } from '../documents.js';
import type { Chain } from '../market.js';
import type { PageGroup } from '../replay/query.js';
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
  named: { token: string; chain: Chain; resolved_token?: string };
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
interface SlippageReplyInput {
  fields: SlippageRequestFields;
  input: LadderInput;
  groups: readonly PageGroup[];
  form: DocumentForm;
}

/** The encoded reply: a task of the pool. */
export function slippageReply({
  fields,
  input,
  groups,
  form,
}: SlippageReplyInput): EncodedDocument {
  const { t, priceUsd } = input.cells;
  const document = slippageDocument(fields, {
    t,
    priceUsd,
    groups,
    found: slippage(orderLadder(input), fields),
  });
  const { plain, body } = encodeDocument(document, form);
  // The encoded body shares its memory with other bytes.
  return { plain, body: new Uint8Array(body) };
}
