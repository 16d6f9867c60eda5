/** What subscribers and polling clients ask for: bins within 5% of the price, all markets in one. */
export const VIEW = { group: 'all', min_pct: -5, max_pct: 5 };
