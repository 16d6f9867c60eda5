/** What subscribers and polling clients request: bins within 5% of the price, all markets as one. */
export const VIEW = { group: 'all', min_pct: -5, max_pct: 5 };
