/** GET and POST /whale-activity. */
import { FLOW_DAYS, HOLDER_TIERS } from '../../compute/holders/flow-plan.js';
import { WHALE_SECTIONS } from './get-whale-activity.js';
import { BATCH_SECTIONS } from './post-whale-activity.js';
import type { HolderHandlers } from '../api/handlers.js';
import { KeptReplies } from '../api/replies.js';
import {
  coverage,
  sparklineOf,
  summaryOf,
  whaleDocument,
  type WhaleDocument,
  type WhaleView,
} from './activity-document.js';
import type { HolderFlows, TokenFlow } from './holder-flows.js';

/** Wallets and days of all replies that are kept: some 300 bytes each with their encoded forms. */
const MAX_KEPT_ITEMS = 250_000;
/** What a wallet counts as beside its days: its changes are five times as long as a day. */
const WALLET_ITEMS = 5;

/** Makes the handlers that answer from the flows of tokens' holders. */
export function holderHandlers(flows: HolderFlows): HolderHandlers {
  const replies = new KeptReplies<WhaleDocument>({ sizeOf: itemsOf, maxSize: MAX_KEPT_ITEMS });
  const reply = (address: string, found: TokenFlow | null, view: WhaleView) =>
    found === null
      ? whaleDocument(address, null, view)
      : replies.get(replyKey(found, view), () => whaleDocument(address, found.flow, view));
  return {
    getWhaleActivity({ token: { address }, query }) {
      const view: WhaleView = {
        sections: new Set(query.include ?? WHALE_SECTIONS),
        walletLimit: query.wallet_limit,
        walletActivity: query.wallet_activity,
      };
      const found = flows.get(address);
      if (!(found instanceof Promise)) return reply(address, found, view);
      return found.then((flow) => reply(address, flow, view));
    },

    async postWhaleActivity({ tokens, body }) {
      const sections = new Set(body.include ?? BATCH_SECTIONS);
      const items = await Promise.all(
        tokens.map(async ({ address }) => {
          const flow = (await flows.get(address))?.flow ?? null;
          return {
            token_address: address,
            chain: 'mainchain' as const,
            ...coverage(flow),
            ...(flow !== null && sections.has('summary') ? { summary: summaryOf(flow) } : {}),
            ...(flow !== null && sections.has('sparkline') ? { sparkline: sparklineOf(flow) } : {}),
          };
        }),
      );
      return { chain: 'mainchain', count: items.length, tokens: items };
    },
  };
}

/** Names everything that a reply depends on: a revision is one token's, at one time. */
function replyKey({ revision }: TokenFlow, view: WhaleView): string {
  const { sections, walletLimit, walletActivity } = view;
  const shown = WHALE_SECTIONS.filter((section) => sections.has(section));
  // Without wallets, what is asked of them makes no difference.
  const wallets = sections.has('wallets') ? `${walletLimit} ${walletActivity}` : '';
  return `${revision} ${shown.join()} ${wallets}`;
}

/** Wallets and days of a reply, about. */
function itemsOf({ wallets = [] }: WhaleDocument): number {
  const days = wallets.reduce((sum, { activity = [] }) => sum + activity.length, 0);
  return wallets.length * WALLET_ITEMS + days + HOLDER_TIERS.length * FLOW_DAYS;
}
