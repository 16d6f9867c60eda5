/** How much of replies with orders is kept. */

/** Orders in all replies of an endpoint that are kept: some 2 KB each with their encoded forms. */
export const MAX_KEPT_ORDERS = 20_000;
/** What a reply counts as beside its orders. */
export const REPLY_OVERHEAD_ORDERS = 2;
