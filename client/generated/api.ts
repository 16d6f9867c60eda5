/** Types of the API, made from its OpenAPI description by `npm run client-types`. */

export interface paths {
  '/score/{address}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Score of one token
     * @description The liquidity score of the token's asset. Never a 404: a mint without a record is `pending` and is queued for analysis. The `0x` address of a bridged asset gets the reply of its mainchain mint. With `at`, the reply is as of that time, and uses each leg's newest snapshot at or before it.
     *
     *     Premium and Enterprise. Costs one call of the monthly quota; draws on the rate limit `general`.
     */
    get: operations['getScore'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/score': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Scores of up to 50 tokens
     * @description Scores in the order of the request, duplicates included, each under its own address and chain. Mints without a record are `pending` and are queued for analysis. `X-Data-Time` is the oldest `data_time` of the reply.
     *
     *     Enterprise only. Costs one call of the monthly quota; draws on the rate limit `general`.
     */
    post: operations['postScore'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/top-scores': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * The 50 highest scores
     * @description Scored tokens, highest score first, ties by address. With `chain=all`, an asset is listed once, by its mainchain leg if that leg is scored. Stale scores are left out and counted.
     *
     *     Premium and Enterprise. Costs one call of the monthly quota; draws on the rate limit `general`.
     */
    get: operations['getTopScores'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/market-depth': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Market depth of one token
     * @description Support and resistance by price level, from the newest snapshot. A level is in the range if `1 + low_pct_change <= 1.01^bin <= 1 + high_pct_change`, with a relative tolerance of 1e-9 at both ends. A token with a record but no snapshot yet has no levels. A token without a record is a 404 and is not queued. The score is always the current one, even with delayed depth. `X-Data-Time` is of the snapshot that is served.
     *
     *     Premium and Enterprise. Costs one call of the monthly quota; draws on the rate limit `market-depth`.
     */
    get: operations['getMarketDepth'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/slippage/{address}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * What an order costs
     * @description What an order of some USD costs, by venue, and how many USD move the price by some percent: computed on the ladder of one snapshot, added up over the chosen markets. Perps count only if `types` or `venues` names them. Send `usd`, `move_pct` or both. A token without a snapshot has nulls and empty lists; it is never a 404. `X-Data-Time` is of the snapshot that is served.
     *
     *     Premium and Enterprise. Costs one call of the monthly quota; draws on the rate limit `general`.
     */
    get: operations['getSlippage'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/dca-pressure': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Tokens by the pressure of their DCA orders
     * @description Tokens with a record and at least one active DCA order, by net buying (`desc`) or by net selling (`asc`). An order is active if it is not closed and has something left to trade. Counts and totals cover all active orders, flows only those whose price range contains the current price; a token without a price has none of these. With `sort_by=impact`, tokens whose `net_pct` of the timeframe is null come last in either direction. Ties are by ascending address. The list is updated within a second of a change in its data, and is at most 15 seconds old; it is exact when the clock is frozen. The whole reply describes the same moment.
     *
     *     Premium and Enterprise. Costs one call of the monthly quota; draws on the rate limit `dca-pressure`.
     */
    get: operations['getDcaPressure'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/dca-orders': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * DCA orders of one token
     * @description Active DCA orders of a mint, inside or outside their price range, with what they will trade from now on. An order is active if it is not closed and has something left to trade. The list is empty for a token outside a requested range. A token without a record is a 404 and is not queued.
     *
     *     Premium and Enterprise. Costs one call of the monthly quota; draws on the rate limit `general`.
     */
    get: operations['getDcaOrders'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/limit-orders': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Limit orders around the price of one token
     * @description Active limit orders within a range of the current price, nearest first by `|pct_away|`, ties by address. An order is active if it is not closed and has something left to trade. `chain` filters the legs of the token's asset: one chain, or every leg with `all`; the default is the address' own chain. The range, the limit and the sort order apply to all legs together. A missing leg, or one without a current price, has no orders. A token without a record is a 404 and is not queued. `X-Data-Time` is of the requested token's own snapshot.
     *
     *     Premium and Enterprise. Costs one call of the monthly quota; draws on the rate limit `general`.
     */
    get: operations['getLimitOrders'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/whale-activity': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Activity of the largest holders of one token
     * @description Counts and flows of the largest holders by window and by day, and the holders themselves.
     *
     *     Tiers are the first 20, 50 and 100 holders of the newest snapshot, ranked by balance, ties by address, or all holders if there are fewer. A window compares that snapshot with the newest one that is older by at least the window's length; an owner missing there held 0. Without such a snapshot, the window's counts and flows are 0. The sparkline compares the last snapshot of each of the 30 UTC days up to the newest snapshot's with the last one of any earlier day, by that day's ranking; a day where either is missing has zeros. Amounts are in tokens.
     *
     *     Snapshots of the last two days are all kept; older ones are thinned to the last of each UTC hour for nine days, of each six hours for 33 days, of each day for 400: the 7-day window is exact to the hour, those of 14 and 30 days to six hours, and the days of the sparkline are exact. A server whose clock is frozen more than two days before the newest stored snapshot has only the thinned snapshots.
     *
     *     A token without a visible snapshot is not an error: `has_coverage` is false and `last_snapshot_at` null. `summary` and `sparkline` are then `{}`, and `wallets` is empty.
     *
     *     Limited to one request per second, on top of the plan's limits. Snapshots arrive about once a minute; `Cache-Control` lets clients cache a reply for as long.
     *
     *     Premium and Enterprise. Costs one call of the monthly quota; draws on the rate limits `general` and `whale-get`.
     */
    get: operations['getWhaleActivity'];
    put?: never;
    /**
     * Activity of the largest holders of up to 10 tokens
     * @description Counts and flows in the order of the request, duplicates included.
     *
     *     Tiers are the first 20, 50 and 100 holders of the newest snapshot, ranked by balance, ties by address, or all holders if there are fewer. A window compares that snapshot with the newest one that is older by at least the window's length; an owner missing there held 0. Without such a snapshot, the window's counts and flows are 0. The sparkline compares the last snapshot of each of the 30 UTC days up to the newest snapshot's with the last one of any earlier day, by that day's ranking; a day where either is missing has zeros. Amounts are in tokens.
     *
     *     Snapshots of the last two days are all kept; older ones are thinned to the last of each UTC hour for nine days, of each six hours for 33 days, of each day for 400: the 7-day window is exact to the hour, those of 14 and 30 days to six hours, and the days of the sparkline are exact. A server whose clock is frozen more than two days before the newest stored snapshot has only the thinned snapshots.
     *
     *     A token without a visible snapshot is not an error: `has_coverage` is false and `last_snapshot_at` null. Its `summary` and `sparkline` are left out.
     *
     *     Limited to six requests per minute, on top of the plan's limits.
     *
     *     Premium and Enterprise. Costs one call per token requested of the monthly quota; draws on the rate limits `general` and `whale-post`.
     */
    post: operations['postWhaleActivity'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/dlmm/{address}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * DLMM pools of one token
     * @description Pools with the token on either side, in descending order of `total_liquidity_usd`, nulls last, ties by pubkey: the first 2,000, and the leaders. A token without pools has an empty list, even without a record. `stats_1h` covers this hour: the current hour, or the previous one until any known pool has data for the current one. Pools, hours and depth show up within a second of their ingest. Under continuous ingest the list is updated at least every 15 seconds, and `rangeTvl` and what depends on it within 15 seconds of new depth, load permitting. Prices are at most half a second old.
     *
     *     Premium and Enterprise. Costs one call of the monthly quota; draws on the rate limit `general`.
     */
    get: operations['getDlmm'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/dlmm-pools': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Top DLMM pools over a period
     * @description Pools with hourly data in the period, which ends with this hour: the current hour, or the previous one until any known pool has data for the current one. Up to 500 pools, in descending order of `sort`, nulls last, ties by address. Shares are of all pools of the base token, including those below `minTvl`. Pools, hours and depth show up within a second of their ingest. Under continuous ingest the list is updated at least every 15 seconds, and `rangeTvl` and what depends on it within 15 seconds of new depth, load permitting.
     *
     *     Premium and Enterprise. Costs one call of the monthly quota; draws on the rate limit `general`.
     */
    get: operations['getDlmmPools'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/lp-cheat-sheet': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Tokens by LP fee density
     * @description Organic volume over on-chain liquidity, highest first, ties by address. The window ends with this hour: the current hour, or the previous one until any mint has data for the current one. The list leaves out tokens without hourly data in the window, without a snapshot (for `range`: without one in the window), or with less than 1,000 USD in the denominator. Coverage does not matter. Hours and depth show up within a second of their ingest. Under continuous ingest the list is updated at least every 15 seconds, and a token's price range within 15 seconds of new depth, load permitting.
     *
     *     Premium and Enterprise. Costs one call of the monthly quota; draws on the rate limit `general`.
     */
    get: operations['getLpCheatSheet'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/replay/{address}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Depth history of one token
     * @description Support and resistance by market and price bin, snapshot by snapshot, in columns: cell i of a snapshot is item i of each of its arrays. A page holds up to 100,000 cells and 288 snapshots; to get the next one, send `next_from` as `from` with the same `to`, until `next_from` is null.
     *
     *     Premium and Enterprise. Costs one call of the monthly quota; draws on the rate limit `general`.
     */
    get: operations['getReplay'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/replay/{address}/plan': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Pages of a window of depth history
     * @description How `/replay/:address` pages a window, so that its pages can be fetched in parallel: send a page's `from` with `to` of `window` and the same other parameters to get exactly that page. A plan has up to 500 pages; send its `next_from` as `from` for the next ones. Data added or deleted in the meantime change their page and all later ones.
     *
     *     Premium and Enterprise. Costs one call of the monthly quota; draws on the rate limit `general`.
     */
    get: operations['getReplayPlan'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/depth-series/{address}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Depth near the price over time
     * @description Support and resistance within some percent of the price, one point for each multiple of a step in the window, from the newest snapshot of that step. A step without a snapshot is left out. Perps count only if `types` or `venues` names them. A reply holds up to 2,000 points; to go on, send `next_from` as `from` with the same `to` and `step`, until `next_from` is null.
     *
     *     Premium and Enterprise. Costs one call of the monthly quota; draws on the rate limit `general`.
     */
    get: operations['getDepthSeries'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/coverage/{address}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Stored history of one token
     * @description The token's stored depth by tier, its gaps and its markets. Without history, all of these are empty; the reply is never a 404.
     *
     *     Premium and Enterprise. Costs one call of the monthly quota; draws on the rate limit `general`.
     */
    get: operations['getCoverage'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/tokens': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Tokens by symbol, name or address
     * @description Tokens whose symbol, name or address begins with `query`, in any case (base58 in the exact case); all tokens without it. A token whose symbol is the query comes first, then by score, then by address. To get the next page, send `next_cursor` as `cursor` with the same `query` and `chain`, until it is null.
     *
     *     Premium and Enterprise. Costs one call of the monthly quota; draws on the rate limit `general`.
     */
    get: operations['getTokens'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/usage': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * The calling key's usage
     * @description Calls charged in the current UTC month, in total, by day and by endpoint. This call is free, even when the quota is used up. Calls in progress are not counted yet.
     *
     *     Premium and Enterprise. Costs nothing of the monthly quota; draws on the rate limit `general`.
     */
    get: operations['getUsage'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    AccumulatingHoldersByTier: {
      top20: components['schemas']['AccumulatingHoldersByWindow'];
      top50: components['schemas']['AccumulatingHoldersByWindow'];
      top100: components['schemas']['AccumulatingHoldersByWindow'];
    };
    AccumulatingHoldersByWindow: {
      /** @description Wallets of the tier that already held the token and hold more now */
      '1d': number;
      /** @description Wallets of the tier that already held the token and hold more now */
      '7d': number;
      /** @description Wallets of the tier that already held the token and hold more now */
      '30d': number;
    };
    /** @description The archive that holds what the reply needs cannot be read; retry after `Retry-After` seconds. Free of charge. */
    ArchiveUnavailableError: {
      /** @constant */
      error: 'Service Unavailable';
      /** @description Human-readable description of the error. */
      message: string;
      /** @constant */
      error_code: 'archive_unavailable';
    };
    BalanceChange: {
      /** @description Change in the balance, tokens; 0 if no snapshot is that old */
      tokens: number;
      /** @description Change as a fraction of the earlier balance: 0.25 is 25%. Null if that balance was 0, or if no snapshot is that old. */
      pct: number | null;
    };
    BalanceChanges: {
      '1d': components['schemas']['BalanceChange'];
      '7d': components['schemas']['BalanceChange'];
      '14d': components['schemas']['BalanceChange'];
      '30d': components['schemas']['BalanceChange'];
    };
    /** @description 1 - |S - R| / D; 0 if D < 1. */
    BalanceComponent: {
      /** @description Value of the component, 0 to 1. */
      value: number;
      /** @description Points that it adds to the score: 20 times the value */
      points: number;
    };
    /** @description The chain that was sent contradicts the address. */
    BatchChainMismatchError: {
      /** @constant */
      error: 'Bad Request';
      /** @description Human-readable description of the error. */
      message: string;
      /** @constant */
      error_code: 'chain_mismatch';
      /** @description The chain value at fault. */
      chain: string;
      /** @enum {string} */
      resolved_chain: 'mainchain' | 'evmchain';
      /** @description The address; in a batch, the first that contradicts the chain. */
      address: string;
      /** @description Every address that contradicts the chain. */
      mismatched_addresses: string[];
    };
    BatchScore: {
      /** @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits. */
      address: string;
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      /** @description Symbol; null if unknown. */
      symbol: string | null;
      /** @description Liquidity score of the asset, 0 to 100 with one decimal; null if not scored. */
      service_score: number | null;
      /** @description Time of the token's newest snapshot, Unix epoch seconds; null without one. */
      data_time: number | null;
      /** @description True if the newest snapshot that the score is based on is older than the server allows (`stale_after`, 1 hour unless configured), absent otherwise. The score keeps its value. */
      stale?: boolean;
      /**
       * @description `available`: scored. `pending`: not scored yet; the score follows its data within 15 seconds. `unsupported`: on mainchain, permanently excluded; on evmchain, not indexed yet, do not poll. `unscored`: depth and price only, never scored. `price_unavailable`: supported, but without a price.
       * @enum {string}
       */
      status: 'available' | 'pending' | 'unsupported' | 'unscored' | 'price_unavailable';
    };
    BatchWhaleActivity: {
      /** @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits. */
      token_address: string;
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      /** @description Whether holder snapshots of the token are available. */
      has_coverage: boolean;
      /** @description Time of the newest snapshot, ISO 8601 in UTC; null without coverage. */
      last_snapshot_at: string | null;
      summary?: components['schemas']['HolderSummary'];
      sparkline?: components['schemas']['HolderDaysByTier'];
    };
    BoardToken: {
      /** @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits. */
      address: string;
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      /** @description Symbol; null if unknown. */
      symbol: string | null;
      /** @description Name; null if unknown. */
      name: string | null;
      /** @description URL of an icon; null if unknown. */
      icon: string | null;
      /** @description Market capitalisation, USD; null if unknown. */
      mcap: number | null;
      /** @description Liquidity from the token list, USD; null if unknown. `min_liquidity` and `max_liquidity` compare Support Liquidity, which is a different figure. */
      liquidity_usd: number | null;
      /** @description Current price, USD; null if unknown. */
      price_usd: number | null;
    };
    /** @description The chain that was sent contradicts the address. */
    ChainMismatchError: {
      /** @constant */
      error: 'Bad Request';
      /** @description Human-readable description of the error. */
      message: string;
      /** @constant */
      error_code: 'chain_mismatch';
      /** @description The chain value at fault. */
      chain: string;
      /** @enum {string} */
      resolved_chain: 'mainchain' | 'evmchain';
      /** @description The address; in a batch, the first that contradicts the chain. */
      address: string;
    };
    /** @description The endpoint does not cover the chain that was sent, or the chain of an address. */
    ChainNotSupportedError: {
      /** @constant */
      error: 'Bad Request';
      /** @description Human-readable description of the error. */
      message: string;
      /** @constant */
      error_code: 'chain_not_supported';
      /** @description The chain value at fault. */
      chain: string;
      /** @description Chain keys that the endpoint covers; it accepts `all`, too. */
      supported_chains: ('mainchain' | 'evmchain')[];
    };
    Coverage: {
      /** @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits. */
      token: string;
      /** @description The mainchain mint whose data are shown for a bridged `0x` address. */
      resolved_token?: string;
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      /** @description Tiers that have snapshots, the finest first. */
      tiers: components['schemas']['TierCoverage'][];
      /** @description Neighbouring snapshots of a tier more than 3 times its median interval apart, newest first. */
      gaps: components['schemas']['HistoryGap'][];
      /** @description Whether there are more than 1000 gaps. */
      gaps_truncated: boolean;
      /** @description Markets with any depth, in the order of their first appearance. */
      markets: components['schemas']['CoveredMarket'][];
    };
    CoveredMarket: {
      source: string;
      /** @enum {string} */
      exchange_type: 'DEX' | 'CEX';
      /**
       * @description Type of market.
       * @enum {string}
       */
      type: 'onchain_pool' | 'onchain_limit_order' | 'cex_spot' | 'cex_perp';
      /** @description Address of the pool or order book; null if it has none. */
      address: string | null;
      /** @description Null if the market has none. */
      pair: string | null;
      /** @description Time of the first snapshot with any of its depth, Unix epoch seconds */
      first_t: number;
      /** @description Time of the last, Unix epoch seconds */
      last_t: number;
    };
    /** @description Stored data that the reply needs are damaged. Free of charge. */
    DamagedDataError: {
      /** @constant */
      error: 'Internal Server Error';
      /** @description Human-readable description of the error. */
      message: string;
      /** @constant */
      error_code: 'damaged_data';
    };
    DayUsage: {
      /** Format: date */
      date: string;
      /** @description Calls charged */
      requests: number;
    };
    /** @description Amounts that the order will trade from now on, capped at what remains; 0 out of range. */
    DcaFlows: {
      /** @description Amount that the order trades in the next 5 min, USD */
      usd_next_5_min: number;
      /** @description Amount that the order trades in the next 30 min, USD */
      usd_next_30_min: number;
      /** @description Amount that the order trades in the next 1 hr, USD */
      usd_next_1_hr: number;
      /** @description Amount that the order trades in the next 6 hr, USD */
      usd_next_6_hr: number;
      /** @description Amount that the order trades in the next 24 hr, USD */
      usd_next_24_hr: number;
    };
    DcaOrder: {
      /** @description Address of the order */
      dca_address: string;
      /**
       * @description DCA orders exist on mainchain only.
       * @enum {string}
       */
      chain: 'mainchain';
      /**
       * @description Whether the order buys or sells the token.
       * @enum {string}
       */
      direction: 'BUY' | 'SELL';
      /** @description Symbol; null if unknown. */
      symbol: string | null;
      /** @description Symbol of the token on the other side */
      paired_symbol: string;
      /** @description Amount deposited, USD */
      deposited_usd: number;
      /** @description Amount left to trade, USD */
      remaining_usd: number;
      /** @description `1 - remaining_usd / deposited_usd` as a fraction: 0.25 is 25%, and below 0 if more is left than was deposited; null if nothing was deposited. */
      pct_filled: number | null;
      /** @description Whether the current price is within `price_range` (inclusive); false without a current price. */
      in_active_range: boolean;
      /** @description Seconds between two cycles */
      cycle_frequency: number;
      price_range: components['schemas']['DcaPriceRange'];
      flow_projections: components['schemas']['DcaFlows'];
    };
    DcaOrders: {
      query_parameters: components['schemas']['DcaOrdersParameters'];
      token: components['schemas']['OrdersToken'];
      /** @description Items of `orders` */
      count: number;
      orders: components['schemas']['DcaOrder'][];
    };
    DcaOrdersParameters: {
      /** @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits. */
      token_address: string;
      /** @enum {string} */
      sort_by: 'pct_impact' | 'usd_flow';
      limit: number;
      /** @enum {string} */
      chain: 'mainchain';
    };
    DcaPressure: {
      query_parameters: components['schemas']['DcaPressureParameters'];
      /** @description Items of `tokens` */
      count: number;
      tokens: components['schemas']['TokenPressure'][];
    };
    DcaPressureParameters: {
      /** @enum {string} */
      sort_by: 'usd' | 'impact';
      /** @enum {string} */
      sort_timeframe: '5_min' | '30_min' | '1_hr' | '6_hr' | '24_hr';
      include_orders: boolean;
      limit: number;
      /** @enum {string} */
      chain: 'mainchain';
    };
    /** @description Prices at which the order trades. */
    DcaPriceRange: {
      /** @description Lowest price, USD; null if unbounded. */
      min_usd: number | null;
      /** @description Highest price, USD; null if unbounded. */
      max_usd: number | null;
      /** @description Current price, USD; null if unknown. */
      current_price_usd: number | null;
    };
    /** @description clamp(log10(D / 1000) / 5, 0, 1); 0 if D < 1. */
    DepthComponent: {
      /** @description Value of the component, 0 to 1. */
      value: number;
      /** @description Points that it adds to the score: 80 times the value */
      points: number;
    };
    DepthLevel: {
      /** @description Price of the level in `currency` */
      price: number;
      /** @description Buy liquidity without constant product, in `currency` */
      support: number;
      /** @description Sell liquidity without constant product, in `currency` */
      resistance: number;
      /** @description Constant-product liquidity of both sides, in `currency` */
      constant_product: number;
    };
    DepthOfExchangeType: {
      /** @enum {string} */
      exchange_type: 'DEX' | 'CEX';
      /** @description Buy liquidity without constant product, in `currency` */
      support: number;
      /** @description Sell liquidity without constant product, in `currency` */
      resistance: number;
    };
    DepthOfSource: {
      source: string;
      /** @description Buy liquidity without constant product, in `currency` */
      support: number;
      /** @description Sell liquidity without constant product, in `currency` */
      resistance: number;
    };
    DepthSeries: {
      /** @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits. */
      token: string;
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      /** @description The mainchain mint whose data are shown for a bridged `0x` address. */
      resolved_token?: string;
      window: components['schemas']['ReplayPlanWindow'];
      /** @enum {string} */
      step: '1m' | '5m' | '15m' | '1h' | '4h' | '1d';
      /** @description Requested venues of which the token has no market so far. */
      venues_not_found?: string[];
      pct: number[];
      /** @description Groups with depth in the reply. Absent without `group`. */
      groups?: components['schemas']['ReplayGroup'][];
      /** @description Points: multiples of the step, Unix epoch seconds. */
      t: number[];
      /** @description Time of the snapshot of each point, Unix epoch seconds. */
      snapshot_t: number[];
      price_usd: number[];
      /** @description With `score=true`: what `/score/:address?at=` returns at `t`, null if no score. */
      score?: (number | null)[];
      /** @description Support within the percent below the price, USD: `[pct][point]`, with `group` `[group][pct][point]`. */
      support_usd: number[][] | number[][][];
      /** @description Resistance within the percent above the price, USD: `[pct][point]`, with `group` `[group][pct][point]`. */
      resistance_usd: number[][] | number[][][];
      /** @description `from` of the next reply; null on the last one. */
      next_from: number | null;
    };
    /** @description With `include_summary=true`: totals of `depth_data`. One row per exchange type and per source with depth in the range; sources are in code unit order. */
    DepthSummary: {
      by_exchange_type: components['schemas']['DepthOfExchangeType'][];
      by_source: components['schemas']['DepthOfSource'][];
      /** @description Constant-product liquidity of both sides, in `currency` */
      constant_product: number;
    };
    DlmmChip: {
      /** @enum {string} */
      key: 'feesPerAvgTvl' | 'rangeYield' | 'fees';
      /** @description Label of the leading pool */
      label: string;
      /** @description What it means */
      tip: string;
    };
    DlmmChips: {
      definitions: components['schemas']['DlmmChip'][];
      leaders: components['schemas']['DlmmLeaders'];
    };
    /** @description Per key, the token's pool with the highest value above 0 this hour; ties go to the lower pubkey. */
    DlmmLeaders: {
      /** @description Pubkey of the leading pool; absent if there is none */
      feesPerAvgTvl?: string;
      /** @description Pubkey of the leading pool; absent if there is none */
      rangeYield?: string;
      /** @description Pubkey of the leading pool; absent if there is none */
      fees?: string;
    };
    DlmmPool: {
      /** @description Address of the pool */
      pubkey: string;
      /** @description Price step between two bins, basis points */
      bin_step: number;
      /** @description Active bin */
      active_id: number;
      /** @description Mint of side x */
      token_x_mint: string;
      /** @description Symbol; null if unknown. */
      token_x_symbol: string | null;
      /** @description URL of its icon; null if unknown. */
      token_x_icon: string | null;
      /** @description Decimals of the token, as the pool has them */
      token_x_decimals: number;
      /** @description Current price of the token, USD; null without one. */
      token_x_price: number | null;
      /** @description Mint of side y */
      token_y_mint: string;
      /** @description Symbol; null if unknown. */
      token_y_symbol: string | null;
      /** @description URL of its icon; null if unknown. */
      token_y_icon: string | null;
      /** @description Decimals of the token, as the pool has them */
      token_y_decimals: number;
      /** @description Current price of the token, USD; null without one. */
      token_y_price: number | null;
      /** @description Price of x in y, `(1 + bin_step/10000)^active_id * 10^(decimals of x - of y)`; null if it is not finite. */
      pool_price: number | null;
      /** @description Base fee, percent */
      base_fee_pct: number;
      /** @description Fee at the current volatility, percent */
      dynamic_fee_pct: number;
      /** @description Reserve of this side, tokens */
      reserve_x: number;
      /** @description The reserve at the current price, USD; null without one. */
      reserve_x_usd: number | null;
      /** @description Reserve of this side, tokens */
      reserve_y: number;
      /** @description The reserve at the current price, USD; null without one. */
      reserve_y_usd: number | null;
      /** @description Value of both reserves, USD; null if either is null. */
      total_liquidity_usd: number | null;
      /** @description Open positions */
      num_positions: number;
      /** @description Wallets with an open position */
      num_wallets: number;
      /** @description Figures of this hour; null if the pool has no data for it. */
      stats_1h: components['schemas']['DlmmPoolFigures'] | null;
      /** @description Labels of the chips that the pool has. */
      chips: string[];
    };
    DlmmPoolBoard: {
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      /** @enum {string} */
      period: '1h' | '2h' | '4h' | '12h' | '24h';
      /** @enum {string} */
      sort: 'rangeyield' | 'feespertvl' | 'fees' | 'volume' | 'tvl';
      /** @description The floor that was applied, USD */
      minTvl: number;
      /** @description The requested token; null for the board of all pools. */
      mint: string | null;
      /** @description Items of `data` */
      count: number;
      data: components['schemas']['DlmmPoolRow'][];
    };
    DlmmPoolFigures: {
      /** @description Fees of the period, USD */
      fees: number;
      /** @description Volume of the period, USD */
      volume: number;
      /** @description Mean hourly TVL, over the hours with data, USD */
      tvl: number;
      /** @description Fees over volume, basis points; null without volume. */
      effectiveFeeBps: number | null;
      /** @description `fees` over `tvl`; null if `tvl` is 0. */
      feesPerAvgTvl: number | null;
      /** @description Share of the fees of all pools with the same base token; null if they have no fees. */
      captureShare: number | null;
      /** @description `captureShare` over the pool's share of those pools' TVL; null if either is undefined. */
      feeCapture: number | null;
      /** @description Mean liquidity of the pool, USD, within the base token's price range over the period, extended by half a bin at both ends; null without depth of this pool in that range. */
      rangeTvl: number | null;
      /** @description `fees` over `rangeTvl`; null if that is null. */
      rangeYield: number | null;
    };
    DlmmPoolRow: {
      /** @description Address of the pool */
      address: string;
      /** @description Symbol; null if unknown. */
      baseSymbol: string | null;
      /** @description Symbol; null if unknown. */
      quoteSymbol: string | null;
      /** @description Mint of the base token */
      baseMint: string;
      /** @description Mint of the quote token: the one that ranks higher in the configured list of quote tokens; y if neither is in it */
      quoteMint: string;
      /** @description URL of the base token's icon; null if unknown. */
      tokenIcon: string | null;
      /** @description Mean hourly TVL, over the hours with data, USD */
      tvl: number;
      /** @description Basis points between two bins */
      binStep: number;
      /** @description Base fee, percent */
      baseFeePct: number;
      /** @description Volume of the period, USD */
      volume: number;
      /** @description Fees of the period, USD */
      fees: number;
      /** @description Fees over volume, basis points; null without volume. */
      effectiveFeeBps: number | null;
      /** @description `fees` over `tvl`; null if `tvl` is 0. */
      feesPerAvgTvl: number | null;
      /** @description Share of the fees of all pools with the same base token; null if they have no fees. */
      captureShare: number | null;
      /** @description `captureShare` over the pool's share of those pools' TVL; null if either is undefined. */
      feeCapture: number | null;
      /** @description Mean liquidity of the pool, USD, within the base token's price range over the period, extended by half a bin at both ends; null without depth of this pool in that range. */
      rangeTvl: number | null;
      /** @description `fees` over `rangeTvl`; null if that is null. */
      rangeYield: number | null;
      /** @description Range yield of a liquidity provider that rebalances perfectly: the sum over hours of fees over the liquidity in that hour's own range; null if no hour has such liquidity. */
      rangeCeiling: number | null;
      /** @description Pools of the row's base token, on the board or not */
      tokenPoolCount: number;
    };
    DlmmPools: {
      /** @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits. */
      address: string;
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      /**
       * @description Period of `stats_1h` and of the chips.
       * @enum {string}
       */
      period: '1h';
      pools: components['schemas']['DlmmPool'][];
      chips: components['schemas']['DlmmChips'];
    };
    EndpointUsage: {
      /** @description Method and path, such as `GET /score/:address`. */
      endpoint: string;
      /** @description Calls charged */
      requests: number;
    };
    FeeDensity: {
      /** @description Rank on the full list, from 1 */
      rank: number;
      /** @description Mint */
      address: string;
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      /** @description Symbol; null if unknown. */
      symbol: string | null;
      /** @description Name; null if unknown. */
      name: string | null;
      /** @description URL of its icon; null if unknown. */
      icon: string | null;
      /** @description Organic volume of the window, USD */
      organic_volume: number;
      /** @description Liquidity, as chosen by `denominator`, USD */
      denom_liquidity_usd: number;
      /** @description `organic_volume` over `denom_liquidity_usd` */
      fee_density: number;
    };
    FoundToken: {
      /** @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits. */
      address: string;
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      /** @description Symbol; null if unknown. */
      symbol: string | null;
      /** @description Name; null if unknown. */
      name: string | null;
      /** @description URL of an icon; null if unknown. */
      icon: string | null;
      /** @description Current price, USD; null if unknown. */
      price_usd: number | null;
      /** @description Liquidity score of the asset, 0 to 100 with one decimal; null if not scored. */
      service_score: number | null;
      /** @description True if the newest snapshot that the score is based on is older than the server allows (`stale_after`, 1 hour unless configured), absent otherwise. The score keeps its value. */
      stale?: boolean;
      /**
       * @description `available`: scored. `pending`: not scored yet; the score follows its data within 15 seconds. `unsupported`: on mainchain, permanently excluded; on evmchain, not indexed yet, do not poll. `unscored`: depth and price only, never scored. `price_unavailable`: supported, but without a price.
       * @enum {string}
       */
      status: 'available' | 'pending' | 'unsupported' | 'unscored' | 'price_unavailable';
      /** @description Time of the snapshot that the price is from, else of the token's record, Unix epoch seconds; null if there is neither. */
      last_refresh: number | null;
      /** @description Time of the token's first snapshot, Unix epoch seconds; null without one. */
      first_snapshot_at: number | null;
      /** @description Time of its newest snapshot, Unix epoch seconds; null without one. */
      last_snapshot_at: number | null;
    };
    HistoryGap: {
      /**
       * @description Density at which snapshots are kept.
       * @enum {string}
       */
      tier: 'raw' | '15m' | '1h';
      /** @description Time of the snapshot before the gap, Unix epoch seconds */
      from: number;
      /** @description Time of the snapshot after it, Unix epoch seconds */
      to: number;
    };
    HolderDay: {
      /** @description UTC day, YYYY-MM-DD */
      day: string;
      /** @description Wallets of the tier that already held the token and hold more now */
      accumulating: number;
      /** @description Wallets of the tier that did not hold the token before */
      new_wallets: number;
      /** @description Sum of `inflow` and `outflow`, tokens */
      net: number;
      /** @description Sum of the increases in balance, tokens */
      inflow: number;
      /** @description Sum of the decreases in balance, tokens; 0 or negative */
      outflow: number;
    };
    HolderDaysByTier: {
      /** @description One item per day, ascending. */
      top20: components['schemas']['HolderDay'][];
      /** @description One item per day, ascending. */
      top50: components['schemas']['HolderDay'][];
      /** @description One item per day, ascending. */
      top100: components['schemas']['HolderDay'][];
    };
    HolderFlow: {
      /** @description Sum of `inflow` and `outflow`, tokens */
      net: number;
      /** @description Sum of the increases in balance, tokens */
      inflow: number;
      /** @description Sum of the decreases in balance, tokens; 0 or negative */
      outflow: number;
    };
    HolderFlowsByTier: {
      top20: components['schemas']['HolderFlowsByWindow'];
      top50: components['schemas']['HolderFlowsByWindow'];
      top100: components['schemas']['HolderFlowsByWindow'];
    };
    HolderFlowsByWindow: {
      '1d': components['schemas']['HolderFlow'];
      '7d': components['schemas']['HolderFlow'];
      '30d': components['schemas']['HolderFlow'];
    };
    HolderSummary: {
      accumulating: components['schemas']['AccumulatingHoldersByTier'];
      new_wallets: components['schemas']['NewHoldersByTier'];
      net_flow: components['schemas']['HolderFlowsByTier'];
    };
    /** @description The service failed. Free of charge. */
    InternalError: {
      /** @constant */
      error: 'Internal Server Error';
      /** @description Human-readable description of the error. */
      message: string;
      /** @constant */
      error_code: 'internal_error';
    };
    /** @description An address is neither a base58 mint nor a 0x address. */
    InvalidAddressError: {
      /** @constant */
      error: 'Bad Request';
      /** @description Human-readable description of the error. */
      message: string;
      /** @constant */
      error_code: 'invalid_address';
      /** @description The name of the parameter, in the path or the query, or of the field of the body. */
      parameter: string;
    };
    /** @description The body is not JSON, or does not match its schema. */
    InvalidBodyError: {
      /** @constant */
      error: 'Bad Request';
      /** @description Human-readable description of the error. */
      message: string;
      /** @constant */
      error_code: 'invalid_body';
    };
    /** @description The chain is neither a known chain key nor `all`. */
    InvalidChainError: {
      /** @constant */
      error: 'Bad Request';
      /** @description Human-readable description of the error. */
      message: string;
      /** @constant */
      error_code: 'invalid_chain';
      /** @description The chain value at fault. */
      chain: string;
      /** @description Chain keys that the endpoint covers; it accepts `all`, too. */
      supported_chains: ('mainchain' | 'evmchain')[];
    };
    /** @description `markets` and `group` were sent with different meanings. */
    InvalidGroupError: {
      /** @constant */
      error: 'Bad Request';
      /** @description Human-readable description of the error. */
      message: string;
      /** @constant */
      error_code: 'invalid_group';
    };
    /** @description A parameter is missing, repeated, unknown, or has a bad value. */
    InvalidParameterError: {
      /** @constant */
      error: 'Bad Request';
      /** @description Human-readable description of the error. */
      message: string;
      /** @constant */
      error_code: 'invalid_parameter';
      /** @description The name of the parameter. */
      parameter: string;
    };
    LimitOrder: {
      /** @description Address of the order */
      order_address: string;
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      /**
       * @description Whether the order buys or sells the token.
       * @enum {string}
       */
      direction: 'BUY' | 'SELL';
      /** @description Name of the order platform, as given */
      platform: string;
      /** @description Symbol; null if unknown. */
      symbol: string | null;
      /** @description Symbol of the token on the other side */
      paired_symbol: string;
      /** @description Wallet address */
      maker: string;
      /** @description Price of the order, USD */
      usd_price: number;
      /** @description Current price of the order's own leg, USD */
      current_price_usd: number;
      /** @description `usd_price / current_price_usd - 1`, as a fraction: -0.21 is 21% below. */
      pct_away: number;
      /** @description Remaining amount of a BUY order; 0 for a SELL order, USD */
      usd_support_amount: number;
      /** @description Remaining amount of a SELL order; 0 for a BUY order, USD */
      usd_resistance_amount: number;
      /** @description Filled share, as a fraction: 0.25 is 25%. */
      pct_complete: number;
      /** @description Time of creation, Unix epoch seconds */
      created_at: number;
    };
    LimitOrders: {
      query_parameters: components['schemas']['LimitOrdersParameters'];
      token: components['schemas']['OrdersToken'];
      /** @description Items of `orders` */
      count: number;
      orders: components['schemas']['LimitOrder'][];
    };
    LimitOrdersParameters: {
      /** @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits. */
      token_address: string;
      low_pct_change: number;
      high_pct_change: number;
      limit: number;
      /**
       * @description Chains listed.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain' | 'all';
    };
    LpCheatSheet: {
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      /** @enum {string} */
      window: '1h' | '6h' | '24h';
      /** @enum {string} */
      denominator: 'near' | 'bin10' | 'range';
      limit: number;
      /** @description Items of `data` */
      count: number;
      data: components['schemas']['FeeDensity'][];
    };
    MarketDepth: {
      query_parameters: components['schemas']['MarketDepthParameters'];
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      /** @description Time of the snapshot, else of the token's row, Unix epoch seconds; null if it has neither. */
      last_refresh: number | null;
      /** @description Liquidity score of the asset, 0 to 100 with one decimal; null if not scored. */
      service_score: number | null;
      /** @description True if the newest snapshot that the score is based on is older than the server allows (`stale_after`, 1 hour unless configured), absent otherwise. The score keeps its value. */
      stale?: boolean;
      /** @description How support compares with resistance, or why there is no score. */
      score_msg: string;
      /** @description Price in `currency`; null if none is known. */
      price: number | null;
      /** @description Non-empty levels in the range, by ascending price. */
      depth_data: components['schemas']['DepthLevel'][];
      /** @description Only if the snapshot has depth, but none on markets of the requested `exchange_type`: names the value that has it. */
      hint?: string;
      summary?: components['schemas']['DepthSummary'];
    };
    MarketDepthParameters: {
      /** @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits. */
      token_address: string;
      /** @enum {string} */
      exchange_type: 'DEX' | 'CEX' | 'ALL';
      currency: string;
      delayed: boolean;
      include_summary: boolean;
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
    };
    NewHoldersByTier: {
      top20: components['schemas']['NewHoldersByWindow'];
      top50: components['schemas']['NewHoldersByWindow'];
      top100: components['schemas']['NewHoldersByWindow'];
    };
    NewHoldersByWindow: {
      /** @description Wallets of the tier that did not hold the token before */
      '1d': number;
      /** @description Wallets of the tier that did not hold the token before */
      '7d': number;
      /** @description Wallets of the tier that did not hold the token before */
      '30d': number;
    };
    /** @description Returned when the token has no coverage. */
    NoCoverage: Record<string, never>;
    /** @description The reply has no acceptable media type or encoding. */
    NotAcceptableError: {
      /** @constant */
      error: 'Not Acceptable';
      /** @description Human-readable description of the error. */
      message: string;
      /** @constant */
      error_code: 'not_acceptable';
    };
    OrdersToken: {
      /** @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits. */
      address: string;
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      /** @description Symbol; null if unknown. */
      symbol: string | null;
      /** @description Name; null if unknown. */
      name: string | null;
      /** @description Market capitalisation, USD; null if unknown. */
      mcap: number | null;
      /** @description Liquidity from the token list, USD; null if unknown. `min_liquidity` and `max_liquidity` compare Support Liquidity, which is a different figure. */
      liquidity_usd: number | null;
      /** @description Liquidity score of the asset, 0 to 100 with one decimal; null if not scored. */
      service_score: number | null;
      /** @description True if the newest snapshot that the score is based on is older than the server allows (`stale_after`, 1 hour unless configured), absent otherwise. The score keeps its value. */
      stale?: boolean;
      /** @description Current price, USD; null if unknown. */
      price_usd: number | null;
      /** @description Time of the snapshot that the price is from, else of the token's record, Unix epoch seconds; null if there is neither. */
      last_refresh: number | null;
    };
    /** @description The body is too long. */
    PayloadTooLargeError: {
      /** @constant */
      error: 'Payload Too Large';
      /** @description Human-readable description of the error. */
      message: string;
      /** @constant */
      error_code: 'payload_too_large';
    };
    /** @description Human-readable description of the error; a 429 says how many seconds to wait, unless the request costs more than a month has. */
    PlainError: {
      error: string;
    };
    PlannedPage: {
      /** @description `from` of the page, Unix epoch seconds */
      from: number;
      /** @description Snapshots on the page */
      snapshot_count: number;
      /** @description Cells on the page */
      row_count: number;
      /** @description Approximate bytes of the page as uncompressed JSON */
      approx_bytes: number;
    };
    PressureFlows: {
      /** @description Amount that BUY orders trade less that of SELL orders, within the timeframe, USD */
      net_usd_5_min: number;
      /** @description The move of the price that this net flow would cause, percent: to where `/slippage` ends for an order of it, without perps, or to the end of the ladder if the flow is larger. 0 for no flow, null without depth on the side that it takes. */
      net_pct_5_min: number | null;
      /** @description Amount that BUY orders trade less that of SELL orders, within the timeframe, USD */
      net_usd_30_min: number;
      /** @description The move of the price that this net flow would cause, percent: to where `/slippage` ends for an order of it, without perps, or to the end of the ladder if the flow is larger. 0 for no flow, null without depth on the side that it takes. */
      net_pct_30_min: number | null;
      /** @description Amount that BUY orders trade less that of SELL orders, within the timeframe, USD */
      net_usd_1_hr: number;
      /** @description The move of the price that this net flow would cause, percent: to where `/slippage` ends for an order of it, without perps, or to the end of the ladder if the flow is larger. 0 for no flow, null without depth on the side that it takes. */
      net_pct_1_hr: number | null;
      /** @description Amount that BUY orders trade less that of SELL orders, within the timeframe, USD */
      net_usd_6_hr: number;
      /** @description The move of the price that this net flow would cause, percent: to where `/slippage` ends for an order of it, without perps, or to the end of the ladder if the flow is larger. 0 for no flow, null without depth on the side that it takes. */
      net_pct_6_hr: number | null;
      /** @description Amount that BUY orders trade less that of SELL orders, within the timeframe, USD */
      net_usd_24_hr: number;
      /** @description The move of the price that this net flow would cause, percent: to where `/slippage` ends for an order of it, without perps, or to the end of the ladder if the flow is larger. 0 for no flow, null without depth on the side that it takes. */
      net_pct_24_hr: number | null;
    };
    /** @description The service is busy; retry after `Retry-After` seconds. Free of charge. */
    ReplayBusyError: {
      /** @constant */
      error: 'Service Unavailable';
      /** @description Human-readable description of the error. */
      message: string;
      /** @constant */
      error_code: 'replay_busy';
    };
    /** @description Mean depth of the snapshots on the page by type and by venue, within the band and before any filter. Absent with `group=all` and no filter. */
    ReplayFacets: {
      /** @description Snapshots on the page */
      frames: number;
      types: components['schemas']['TypeFacet'][];
      venues: components['schemas']['VenueFacet'][];
    };
    ReplayFilter: {
      /** @description As sent, venues as keys; null if not sent. */
      types: string[] | null;
      /** @description As sent, venues as keys; null if not sent. */
      venues: string[] | null;
      /** @description As sent, venues as keys; null if not sent. */
      exclude_types: string[] | null;
      /** @description As sent, venues as keys; null if not sent. */
      exclude_venues: string[] | null;
      venues_not_found: string[];
    };
    ReplayGroup: {
      key: string;
      label: string;
      /**
       * @description Type of market.
       * @enum {string}
       */
      type: 'onchain_pool' | 'onchain_limit_order' | 'cex_spot' | 'cex_perp';
    };
    ReplayMarket: {
      source: string;
      /** @enum {string} */
      exchange_type: 'DEX' | 'CEX';
      /** @description Address of the pool or order book; null if it has none. */
      address: string | null;
      /** @description Null if the market has none. */
      pair: string | null;
    };
    ReplayPage: {
      /** @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits. */
      token: string;
      /** @description The mainchain mint whose data are shown for a bridged `0x` address. */
      resolved_token?: string;
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      window: components['schemas']['ReplayWindow'];
      /** @description `from` of the next page; null on the last page. */
      next_from: number | null;
      /** @enum {string} */
      group: 'market' | 'venue' | 'type' | 'all';
      filter: components['schemas']['ReplayFilter'];
      /** @enum {string} */
      markets_mode: 'split' | 'aggregate';
      /** @description Lower end of the band, percent */
      min_pct: number;
      /** @description Upper end of the band, percent */
      max_pct: number;
      /** @description Ratio of the prices of neighbouring bins */
      bin_ratio: number;
      /** @description Snapshots on the page */
      snapshot_count: number;
      /** @description Cells on the page */
      row_count: number;
      /** @description Empty with `group=all`. */
      markets: components['schemas']['ReplayMarket'][];
      /** @description Empty unless `group` is `venue` or `type`. */
      groups: components['schemas']['ReplayGroup'][];
      facets?: components['schemas']['ReplayFacets'];
      snapshots: components['schemas']['ReplaySnapshot'][];
    };
    ReplayPlan: {
      /** @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits. */
      token: string;
      /** @description The mainchain mint whose data are shown for a bridged `0x` address. */
      resolved_token?: string;
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      window: components['schemas']['ReplayPlanWindow'];
      /** @enum {string} */
      group: 'market' | 'venue' | 'type' | 'all';
      /** @description Items of `pages` */
      page_count: number;
      /** @description Snapshots on all pages */
      snapshot_count: number;
      /** @description Cells on all pages */
      row_count: number;
      /** @description Pages with snapshots, in order. */
      pages: components['schemas']['PlannedPage'][];
      /** @description Gaps that overlap the window, as in `/coverage/:address`, newest first. */
      gaps: components['schemas']['HistoryGap'][];
      /** @description `from` of the next plan; null on the last one. */
      next_from: number | null;
    };
    ReplayPlanWindow: {
      /** @description Start, after clamping to the last 365 days, Unix epoch seconds */
      from: number;
      /** @description End, Unix epoch seconds */
      to: number;
      clamped: boolean;
    };
    ReplaySnapshot: {
      /** @description Time, Unix epoch seconds */
      t: number;
      /**
       * @description Density at which snapshots of this age are kept.
       * @enum {string}
       */
      tier: 'raw' | '15m' | '1h';
      /** @description Price, USD */
      price_usd: number;
      /** @description Index into `markets`, one per cell. */
      market_idx?: number[];
      /** @description Index into `groups`, one per cell. */
      group_idx?: number[];
      /** @description Bins: price = price_usd * 1.01^bin. */
      bin: number[];
      /** @description Support, USD, exact to the cent. */
      support_usd: number[];
      /** @description Resistance, USD, exact to the cent. */
      resistance_usd: number[];
    };
    ReplayWindow: {
      /** @description Start, after clamping to the last 365 days, Unix epoch seconds */
      from: number;
      /** @description End, Unix epoch seconds */
      to: number;
      clamped: boolean;
      /** @description Time of the first snapshot; null if the page is empty. */
      served_from: number | null;
      /** @description Time of the last snapshot; null if the page is empty. */
      served_to: number | null;
    };
    /** @description The reply is larger than the server keeps for one client; the message says what to ask for instead. Free of charge. */
    ReplyTooLargeError: {
      /** @constant */
      error: 'Bad Request';
      /** @description Human-readable description of the error. */
      message: string;
      /** @constant */
      error_code: 'reply_too_large';
    };
    Score: {
      /** @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits. */
      address: string;
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      /** @description Symbol; null if unknown. */
      symbol: string | null;
      /** @description Name; null if unknown. */
      name: string | null;
      /** @description Liquidity score of the asset, 0 to 100 with one decimal; null if not scored. */
      service_score: number | null;
      /** @description How support compares with resistance, or why there is no score. */
      score_msg: string;
      /** @description Time of the newest snapshot that the score is based on, of any leg, UTC; null if there is no score. */
      service_last_run: string | null;
      /** @description Time of the token's newest snapshot, Unix epoch seconds; null without one. */
      data_time: number | null;
      /** @description True if the newest snapshot that the score is based on is older than the server allows (`stale_after`, 1 hour unless configured), absent otherwise. The score keeps its value. */
      stale?: boolean;
      /** @description Current price, USD; null if unknown. */
      service_current_price: number | null;
      /**
       * @description `available`: scored. `pending`: not scored yet; the score follows its data within 15 seconds. `unsupported`: on mainchain, permanently excluded; on evmchain, not indexed yet, do not poll. `unscored`: depth and price only, never scored. `price_unavailable`: supported, but without a price.
       * @enum {string}
       */
      status: 'available' | 'pending' | 'unsupported' | 'unscored' | 'price_unavailable';
      /** @description With `explain=true`; null if there is no score. */
      explain?: components['schemas']['ScoreExplanation'] | null;
    };
    ScoreBatch: {
      /** @description Items of `tokens` */
      count: number;
      tokens: components['schemas']['BatchScore'][];
      /** @description Items of the request that are not addresses, as sent; they are not in `tokens`. */
      invalid_addresses: string[];
    };
    ScoreBatchRequest: {
      /**
       * @description Base58 mints and `0x` addresses, in any mix.
       * @example [
       *       "So11111111111111111111111111111111111111112",
       *       "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
       *     ]
       */
      addresses: string[];
      /**
       * @description Optional check: every address has to be on this chain.
       * @example mainchain
       * @enum {string}
       */
      chain?: 'mainchain' | 'evmchain' | 'all';
    };
    ScoreComponents: {
      depth: components['schemas']['DepthComponent'];
      balance: components['schemas']['BalanceComponent'];
    };
    ScoreExplanation: {
      /**
       * @description Name of the formula: the score is the sum of its components' points, rounded to one decimal.
       * @enum {string}
       */
      formula_version: 'fathom.score.1';
      /** @description S: sum of weight times support, USD */
      support: number;
      /** @description R: sum of weight times resistance, USD */
      resistance: number;
      /** @description D: S + R, USD */
      depth: number;
      components: components['schemas']['ScoreComponents'];
      /** @description The score before rounding */
      unrounded: number;
      /** @description Every weighted bin, -28 to 22. */
      weights: components['schemas']['ScoreWeight'][];
      /** @description Legs whose depth was merged. */
      legs: components['schemas']['ScoreLeg'][];
    };
    ScoreLeg: {
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      /** @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits. */
      address: string;
      /** @description Time of the snapshot that was used, Unix epoch seconds */
      t: number;
      /** @enum {string} */
      tier: 'raw' | '15m' | '1h';
      /** @description Price of the snapshot, USD */
      price_usd: number;
    };
    ScoreWeight: {
      /** @description Bin of the 1% ladder: price = price of the leg * 1.01^bin. */
      bin: number;
      /** @description max(0, 1 - |1.01^bin - 1| / 0.25) */
      weight: number;
      /** @description Support of all legs in this bin, perps left out, USD */
      support: number;
      /** @description Resistance of all legs in this bin, perps left out, USD */
      resistance: number;
    };
    Slippage: {
      /** @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits. */
      token: string;
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      /** @description The mainchain mint whose data are shown for a bridged `0x` address. */
      resolved_token?: string;
      /** @description Requested venues of which the token has no market so far. */
      venues_not_found?: string[];
      /** @description Time of the snapshot, Unix epoch seconds; null without one. */
      t: number | null;
      /** @description Price of the snapshot; null without one. */
      price_usd: number | null;
      /**
       * @description `sell` takes support, `buy` takes resistance.
       * @enum {string}
       */
      side: 'sell' | 'buy';
      /** @description Depth of the chosen markets on the side that the order takes, USD; null without a snapshot. */
      fillable_usd: number | null;
      /** @description One per item of `usd`. */
      quotes: components['schemas']['SlippageQuote'][];
      /** @description One per item of `move_pct`. */
      moves: components['schemas']['SlippageMove'][];
    };
    SlippageMove: {
      /** @description Move of the price, percent */
      move_pct: number;
      /** @description Depth up to the moved price; beyond the end of the ladder, all depth, USD */
      usd: number;
    };
    SlippageQuote: {
      /** @description Amount of the order, USD */
      usd: number;
      /** @description Whether it is at most `fillable_usd`; otherwise prices and percents are null. */
      filled: boolean;
      /** @description USD by tokens. */
      average_price_usd: number | null;
      /** @description Price at which the order ends, USD. */
      end_price_usd: number | null;
      /** @description The average price against the price, percent: negative for a sell, positive for a buy. */
      slippage_pct: number | null;
      /** @description The same if each bin had its amount at its near end. */
      best_pct: number | null;
      /** @description The same if each bin had its amount at its far end. */
      worst_pct: number | null;
      /** @description Venues of the order, largest first; if it cannot be filled, all that they have. */
      venues: components['schemas']['SlippageVenue'][];
    };
    SlippageVenue: {
      key: string;
      label: string;
      /**
       * @description Type of market.
       * @enum {string}
       */
      type: 'onchain_pool' | 'onchain_limit_order' | 'cex_spot' | 'cex_perp';
      /** @description Its part of the order, USD */
      usd: number;
    };
    TierCoverage: {
      /**
       * @description Density at which snapshots are kept.
       * @enum {string}
       */
      tier: 'raw' | '15m' | '1h';
      /** @description Stored snapshots; /replay leaves out those of a coarse tier if finer ones cover the same time. */
      snapshot_count: number;
      /** @description Time of the first, Unix epoch seconds */
      first_t: number;
      /** @description Time of the last, Unix epoch seconds */
      last_t: number;
      /** @description Median of the newest 1000 intervals between them, seconds; null with a single snapshot. */
      median_interval_s: number | null;
    };
    /** @description The token has no record. */
    TokenNotFoundError: {
      /** @constant */
      error: 'Not Found';
      /** @description Human-readable description of the error. */
      message: string;
      /** @constant */
      error_code: 'token_not_found';
    };
    TokenPressure: {
      token: components['schemas']['BoardToken'];
      /** @description Active BUY orders */
      buy_order_count: number;
      /** @description Active SELL orders */
      sell_order_count: number;
      /** @description Remaining amount of the BUY orders, USD */
      total_buy_usd: number;
      /** @description Remaining amount of the SELL orders, USD */
      total_sell_usd: number;
      /** @description `total_buy_usd - total_sell_usd`, USD */
      net_usd: number;
      impact: components['schemas']['PressureFlows'];
      /** @description Empty unless `include_orders=true`. */
      orders: components['schemas']['DcaOrder'][];
    };
    Tokens: {
      query_parameters: components['schemas']['TokensParameters'];
      /**
       * @description Chains listed.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain' | 'all';
      /** @description Items of `tokens` */
      count: number;
      /** @description `cursor` of the next page; null on the last one. */
      next_cursor: string | null;
      tokens: components['schemas']['FoundToken'][];
    };
    TokensParameters: {
      query: string | null;
      /**
       * @description Chains listed.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain' | 'all';
      limit: number;
      cursor: string | null;
    };
    TopScore: {
      /** @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits. */
      address: string;
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      /** @description Symbol; null if unknown. */
      symbol: string | null;
      /** @description Liquidity score of the asset, 0 to 100 with one decimal. */
      service_score: number;
      /** @description Current price, USD */
      service_current_price: number;
      /**
       * @description Only scored tokens are listed.
       * @enum {string}
       */
      status: 'available';
      /** @description Name; null if unknown. */
      name?: string | null;
      /** @description With `details=true`: weighted support, `support` of `/score?explain=true`, USD */
      support_usd?: number;
      /** @description With `details=true`: weighted resistance, `resistance` of `/score?explain=true`, USD */
      resistance_usd?: number;
      depth_2pct_usd?: components['schemas']['TopScoreDepth'];
      /** @description Liquidity score of the asset, 0 to 100 with one decimal; null if not scored. */
      score_24h_ago?: number | null;
      /** @description With `details=true`: the score at each of the last 24 whole hours, oldest first; null if no score. */
      scores_24h?: (number | null)[];
    };
    /** @description With `details=true`: depth of all legs that the score is based on, without perps. */
    TopScoreDepth: {
      /** @description Support within 2% below the price, USD */
      support: number;
      /** @description Resistance within 2% above the price, USD */
      resistance: number;
    };
    TopScores: {
      /**
       * @description Chains listed.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain' | 'all';
      /** @description Items of `tokens` */
      count: number;
      /** @description Tokens left out because the newest snapshot that their score is based on is older than the server allows (`stale_after`, 1 hour unless configured) */
      stale_count: number;
      tokens: components['schemas']['TopScore'][];
    };
    TypeFacet: {
      /**
       * @description Type of market.
       * @enum {string}
       */
      key: 'onchain_pool' | 'onchain_limit_order' | 'cex_spot' | 'cex_perp';
      label: string;
      /** @description Mean depth, USD */
      usd: number;
    };
    /** @description Human-readable description of the error. */
    UnauthorizedError: {
      error: string;
      /**
       * @description The key has expired; otherwise missing.
       * @constant
       */
      error_code?: 'key_expired';
    };
    /** @description The body is not `application/json`. */
    UnsupportedMediaTypeError: {
      /** @constant */
      error: 'Unsupported Media Type';
      /** @description Human-readable description of the error. */
      message: string;
      /** @constant */
      error_code: 'unsupported_media_type';
    };
    Usage: {
      /**
       * @description The key's tier.
       * @enum {string}
       */
      tier: 'premium' | 'enterprise';
      /** @description UTC month. */
      month: string;
      /** @description Calls charged */
      used: number;
      /** @description Calls a month; null: unlimited. */
      limit: number | null;
      /** @description Calls left this month; null: unlimited. */
      remaining: number | null;
      /** @description When the next month begins, Unix epoch seconds */
      resets_at: number;
      /** @description Days with calls, ascending. */
      days: components['schemas']['DayUsage'][];
      /** @description Endpoints with calls, the most used first, then by name. */
      endpoints: components['schemas']['EndpointUsage'][];
    };
    VenueFacet: {
      key: string;
      label: string;
      /**
       * @description Type of market.
       * @enum {string}
       */
      type: 'onchain_pool' | 'onchain_limit_order' | 'cex_spot' | 'cex_perp';
      /** @description Mean depth, USD */
      usd: number;
    };
    Wallet: {
      /** @description 1 for the largest balance; ties by address */
      rank: number;
      /** @description The wallet's address */
      owner: string;
      /** @description Balance in the newest snapshot, tokens */
      balance: number;
      balance_change: components['schemas']['BalanceChanges'];
      /** @description With `wallet_activity=true`: one item per day, ascending, up to the day of the newest snapshot. */
      activity?: components['schemas']['WalletDay'][];
    };
    WalletDay: {
      /** @description UTC day, YYYY-MM-DD */
      day: string;
      /** @description Balance in the day's last snapshot, tokens; 0 if the wallet is not in it, null if the day has no snapshot. */
      balance: number | null;
      /** @description Change since the last snapshot of an earlier day, tokens; 0 if either snapshot is missing */
      change: number;
    };
    WhaleActivity: {
      /** @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits. */
      token_address: string;
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      /** @description Whether holder snapshots of the token are available. */
      has_coverage: boolean;
      /** @description Time of the newest snapshot, ISO 8601 in UTC; null without coverage. */
      last_snapshot_at: string | null;
      /** @description The windows of `summary`. */
      windows: ('1d' | '7d' | '30d')[];
      /** @description The tiers of holders. */
      tiers: ('top20' | 'top50' | 'top100')[];
      summary?: components['schemas']['HolderSummary'] | components['schemas']['NoCoverage'];
      sparkline?: components['schemas']['HolderDaysByTier'] | components['schemas']['NoCoverage'];
      wallets?: components['schemas']['Wallet'][];
    };
    WhaleActivityBatch: {
      /**
       * @description Chain key.
       * @enum {string}
       */
      chain: 'mainchain' | 'evmchain';
      /** @description Items of `tokens` */
      count: number;
      tokens: components['schemas']['BatchWhaleActivity'][];
    };
    WhaleActivityBatchRequest: {
      /**
       * @description Base58 mints.
       * @example [
       *       "So11111111111111111111111111111111111111112",
       *       "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
       *     ]
       */
      token_addresses: string[];
      /** @description Sections of each item. Default: both. */
      include?: ('summary' | 'sparkline')[];
      /**
       * @description Optional check: every address has to be on this chain. `all` is the same as `mainchain`.
       * @example mainchain
       * @enum {string}
       */
      chain?: 'mainchain' | 'all';
    };
    /** @description The window ends more than 365 days ago. */
    WindowOutOfRangeError: {
      /** @constant */
      error: 'Bad Request';
      /** @description Human-readable description of the error. */
      message: string;
      /** @constant */
      error_code: 'window_out_of_range';
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
  getScore: {
    parameters: {
      query?: {
        /**
         * @description Optional check: the address decides the chain, and a contradiction is a `chain_mismatch`.
         * @example mainchain
         */
        chain?: ('mainchain' | 'evmchain' | 'all') | string;
        /**
         * @description Adds `explain`: everything needed to recompute the score.
         * @example true
         */
        explain?: boolean;
        /**
         * @description Uses the newest snapshot at or before this time, within the last 365 days. Default: the newest. Unix epoch seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before now in s, m, h, d or w.
         * @example -1h
         */
        at?: string;
      };
      header?: never;
      path: {
        /**
         * @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
         * @example So11111111111111111111111111111111111111112
         */
        address: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Score'];
        };
      };
    };
  };
  postScore: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "addresses": [
         *         "So11111111111111111111111111111111111111112",
         *         "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
         *       ]
         *     }
         */
        'application/json': components['schemas']['ScoreBatchRequest'];
      };
    };
    responses: {
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ScoreBatch'];
        };
      };
    };
  };
  getTopScores: {
    parameters: {
      query?: {
        /**
         * @description Chains to list.
         * @example mainchain
         */
        chain?: 'mainchain' | 'evmchain' | 'all';
        /**
         * @description Adds each token's name, its depth, and its scores of the last 24 hours. Such a board is at most a minute old.
         * @example true
         */
        details?: boolean;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['TopScores'];
        };
      };
    };
  };
  getMarketDepth: {
    parameters: {
      query: {
        /**
         * @description Optional check: the address decides the chain, and a contradiction is a `chain_mismatch`.
         * @example mainchain
         */
        chain?: 'mainchain' | 'evmchain' | 'all';
        /**
         * @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
         * @example So11111111111111111111111111111111111111112
         */
        token_address: string;
        /**
         * @description Markets to include; `CEX` and `ALL` include perps.
         * @example DEX
         */
        exchange_type?: 'DEX' | 'CEX' | 'ALL';
        /**
         * @description `USD`, or the code of mainchain's native token (`SOL` unless configured otherwise): amounts and prices are divided by its current price. While it has no price, its code is an `invalid_parameter`.
         * @example USD
         */
        currency?: string;
        /**
         * @description Lower end of the price range, as a fraction of the price: -0.25 is 25% below.
         * @example -0.9
         */
        low_pct_change?: number;
        /**
         * @description Upper end of the price range, as a fraction of the price; not below `low_pct_change`.
         * @example 10
         */
        high_pct_change?: number;
        /**
         * @description Uses the newest snapshot that is at least 15 minutes old.
         * @example true
         */
        delayed?: boolean;
        /**
         * @description Adds `summary`.
         * @example true
         */
        include_summary?: boolean;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['MarketDepth'];
        };
      };
    };
  };
  getSlippage: {
    parameters: {
      query: {
        /**
         * @description `sell` takes support, `buy` takes resistance.
         * @example sell
         */
        side: 'sell' | 'buy';
        /**
         * @description Amounts of the order, USD.
         * @example [
         *       50000,
         *       500000
         *     ]
         */
        usd?: number[];
        /**
         * @description Moves of the price, percent: down for a sell, up for a buy.
         * @example [
         *       1,
         *       2,
         *       5
         *     ]
         */
        move_pct?: number[];
        /**
         * @description Uses the newest snapshot at or before this time, within the last 365 days. Default: the newest. Unix epoch seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before now in s, m, h, d or w.
         * @example -1h
         */
        at?: string;
        /**
         * @description Market types to include.
         * @example [
         *       "cex_spot",
         *       "cex_perp"
         *     ]
         */
        types?: ('onchain_pool' | 'onchain_limit_order' | 'cex_spot' | 'cex_perp')[];
        /**
         * @description `true` means `types=onchain_pool,onchain_limit_order`.
         * @example true
         */
        onchain?: boolean;
        /**
         * @description Venues to include, by key or by name. Case does not matter.
         * @example [
         *       "binance",
         *       "okx"
         *     ]
         */
        venues?: string[];
        /**
         * @description Market types to exclude; not together with `types`.
         * @example [
         *       "cex_perp"
         *     ]
         */
        exclude_types?: ('onchain_pool' | 'onchain_limit_order' | 'cex_spot' | 'cex_perp')[];
        /**
         * @description Venues to leave out; not together with `venues`. Case does not matter.
         * @example [
         *       "Binance Futures"
         *     ]
         */
        exclude_venues?: string[];
      };
      header?: never;
      path: {
        /**
         * @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
         * @example So11111111111111111111111111111111111111112
         */
        address: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Slippage'];
        };
      };
    };
  };
  getDcaPressure: {
    parameters: {
      query?: {
        /**
         * @description Chains to list. `all` is the same as `mainchain`.
         * @example mainchain
         */
        chain?: 'mainchain' | 'all';
        /**
         * @description `usd`: by `net_usd` of the timeframe; `impact`: by its `net_pct`.
         * @example usd
         */
        sort_by?: 'usd' | 'impact';
        /**
         * @description `desc`: buy pressure first; `asc`: sell pressure first.
         * @example desc
         */
        sort_dir?: 'desc' | 'asc';
        /**
         * @description Timeframe by which tokens and their nested orders are sorted.
         * @example 24_hr
         */
        sort_timeframe?: '5_min' | '30_min' | '1_hr' | '6_hr' | '24_hr';
        /**
         * @description Adds orders to each token, by descending `usd_next` of the timeframe, ties by address.
         * @example true
         */
        include_orders?: boolean;
        /**
         * @description Maximum number of orders per token; ignored without `include_orders=true`.
         * @example 5
         */
        order_limit?: number;
        /**
         * @description Maximum number of tokens.
         * @example 20
         */
        limit?: number;
        /**
         * @description Minimum market capitalisation, USD. Tokens whose figure is unknown are excluded.
         * @example 1000000
         */
        min_mcap?: number;
        /**
         * @description Maximum market capitalisation, USD; not below `min_mcap`. Tokens whose figure is unknown are excluded.
         * @example 1000000000000
         */
        max_mcap?: number;
        /**
         * @description Minimum Support Liquidity, USD: DEX markets' support within 25% of the price in the newest snapshot, constant product included. Tokens whose figure is unknown are excluded.
         * @example 100000
         */
        min_liquidity?: number;
        /**
         * @description Maximum Support Liquidity, USD; not below `min_liquidity`. Tokens whose figure is unknown are excluded.
         * @example 1000000000
         */
        max_liquidity?: number;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['DcaPressure'];
        };
      };
    };
  };
  getDcaOrders: {
    parameters: {
      query: {
        /**
         * @description Optional check: the address decides the chain, and a contradiction is a `chain_mismatch`. `all` is the same as `mainchain`.
         * @example mainchain
         */
        chain?: 'mainchain' | 'all';
        /**
         * @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
         * @example So11111111111111111111111111111111111111112
         */
        token_address: string;
        /**
         * @description `pct_impact`: by the size of the price move that the order's next 24 hours would cause on their own, as `net_pct` of `/dca-pressure` has it; orders without depth to trade against come last. `usd_flow`: by `usd_next_24_hr`. Largest first, ties by address.
         * @example pct_impact
         */
        sort_by?: 'pct_impact' | 'usd_flow';
        /**
         * @description Minimum market capitalisation, USD. Tokens whose figure is unknown are excluded.
         * @example 1000000
         */
        min_mcap?: number;
        /**
         * @description Maximum market capitalisation, USD; not below `min_mcap`. Tokens whose figure is unknown are excluded.
         * @example 1000000000000
         */
        max_mcap?: number;
        /**
         * @description Minimum Support Liquidity, USD: DEX markets' support within 25% of the price in the newest snapshot, constant product included. Tokens whose figure is unknown are excluded.
         * @example 100000
         */
        min_liquidity?: number;
        /**
         * @description Maximum Support Liquidity, USD; not below `min_liquidity`. Tokens whose figure is unknown are excluded.
         * @example 1000000000
         */
        max_liquidity?: number;
        /**
         * @description Maximum number of orders.
         * @example 20
         */
        limit?: number;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['DcaOrders'];
        };
      };
    };
  };
  getLimitOrders: {
    parameters: {
      query: {
        /**
         * @description Legs of the asset to list. Default: the address' own chain.
         * @example mainchain
         */
        chain?: 'mainchain' | 'evmchain' | 'all';
        /**
         * @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
         * @example So11111111111111111111111111111111111111112
         */
        token_address: string;
        /**
         * @description Minimum `pct_away` (inclusive), as a fraction of the price: -0.25 is 25% below.
         * @example -0.9
         */
        low_pct_change?: number;
        /**
         * @description Maximum `pct_away` (inclusive); not below `low_pct_change`.
         * @example 10
         */
        high_pct_change?: number;
        /**
         * @description Maximum number of orders.
         * @example 100
         */
        limit?: number;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['LimitOrders'];
        };
      };
    };
  };
  getWhaleActivity: {
    parameters: {
      query: {
        /**
         * @description Optional check: the address decides the chain, and a contradiction is a `chain_mismatch`. `all` is the same as `mainchain`.
         * @example mainchain
         */
        chain?: 'mainchain' | 'all';
        /**
         * @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
         * @example So11111111111111111111111111111111111111112
         */
        token_address: string;
        /**
         * @description Sections of the reply: `summary`, `sparkline`, `wallets`. Default: all three.
         * @example [
         *       "summary",
         *       "wallets"
         *     ]
         */
        include?: ('summary' | 'sparkline' | 'wallets')[];
        /**
         * @description Maximum number of wallets.
         * @example 100
         */
        wallet_limit?: 20 | 50 | 100;
        /**
         * @description Adds each wallet's balance on each of the last 30 days.
         * @example true
         */
        wallet_activity?: boolean;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['WhaleActivity'];
        };
      };
    };
  };
  postWhaleActivity: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "token_addresses": [
         *         "So11111111111111111111111111111111111111112",
         *         "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
         *       ]
         *     }
         */
        'application/json': components['schemas']['WhaleActivityBatchRequest'];
      };
    };
    responses: {
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['WhaleActivityBatch'];
        };
      };
    };
  };
  getDlmm: {
    parameters: {
      query?: {
        /**
         * @description Optional check: the address decides the chain, and a contradiction is a `chain_mismatch`. `all` is the same as `mainchain`.
         * @example mainchain
         */
        chain?: 'mainchain' | 'all';
      };
      header?: never;
      path: {
        /**
         * @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
         * @example So11111111111111111111111111111111111111112
         */
        address: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['DlmmPools'];
        };
      };
    };
  };
  getDlmmPools: {
    parameters: {
      query?: {
        /**
         * @description Chains to list. `all` is the same as `mainchain`.
         * @example mainchain
         */
        chain?: 'mainchain' | 'all';
        /**
         * @description Period over which hours are summed.
         * @example 1h
         */
        period?: '1h' | '2h' | '4h' | '12h' | '24h';
        /**
         * @description Field to sort by; `feespertvl` is `feesPerAvgTvl`, the others have the names of their fields.
         * @example rangeyield
         */
        sort?: 'rangeyield' | 'feespertvl' | 'fees' | 'volume' | 'tvl';
        /**
         * @description Minimum `tvl`, USD. Default: 10000, or 0 with `mint`.
         * @example 100000
         */
        minTvl?: number;
        /**
         * @description A base58 mint: lists only pools with this token on either side.
         * @example So11111111111111111111111111111111111111112
         */
        mint?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['DlmmPoolBoard'];
        };
      };
    };
  };
  getLpCheatSheet: {
    parameters: {
      query?: {
        /**
         * @description Chains to list. `all` is the same as `mainchain`.
         * @example mainchain
         */
        chain?: 'mainchain' | 'all';
        /**
         * @description Period of the volume.
         * @example 1h
         */
        window?: '1h' | '6h' | '24h';
        /**
         * @description On-chain pools' liquidity in the newest snapshot: `near` in bins -25 to 25, `bin10` in bins -10 to 10, `range` between the lowest and the highest price of the window, extended by half a bin at both ends.
         * @example near
         */
        denominator?: 'near' | 'bin10' | 'range';
        /**
         * @description Maximum number of rows.
         * @example 25
         */
        limit?: number;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['LpCheatSheet'];
        };
      };
    };
  };
  getReplay: {
    parameters: {
      query?: {
        /**
         * @description Start of the window (inclusive). Default: 24 hours before `to`. Unix epoch seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before now in s, m, h, d or w.
         * @example -1h
         */
        from?: string;
        /**
         * @description End of the window (exclusive). Default: now. Unix epoch seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before now in s, m, h, d or w.
         * @example now
         */
        to?: string;
        /**
         * @description How cells are grouped. Default: `market`.
         * @example market
         */
        group?: 'market' | 'venue' | 'type' | 'all';
        /**
         * @description Market types to include.
         * @example [
         *       "cex_spot",
         *       "cex_perp"
         *     ]
         */
        types?: ('onchain_pool' | 'onchain_limit_order' | 'cex_spot' | 'cex_perp')[];
        /**
         * @description `true` means `types=onchain_pool,onchain_limit_order`.
         * @example true
         */
        onchain?: boolean;
        /**
         * @description Venues to include, by key or by name. Case does not matter.
         * @example [
         *       "binance",
         *       "okx"
         *     ]
         */
        venues?: string[];
        /**
         * @description Market types to exclude; not together with `types`.
         * @example [
         *       "cex_perp"
         *     ]
         */
        exclude_types?: ('onchain_pool' | 'onchain_limit_order' | 'cex_spot' | 'cex_perp')[];
        /**
         * @description Venues to leave out; not together with `venues`. Case does not matter.
         * @example [
         *       "Binance Futures"
         *     ]
         */
        exclude_venues?: string[];
        /**
         * @description Keeps only the newest snapshot of each step, an interval that ends at a multiple of this length (inclusive) since the Unix epoch. Default: every snapshot.
         * @example 1m
         */
        step?: '1m' | '5m' | '15m' | '1h' | '4h' | '1d';
        /**
         * @description Lower end of the band around each snapshot's price, percent.
         * @example -50
         */
        min_pct?: number;
        /**
         * @description Upper end of the band, percent; above `min_pct`.
         * @example 100
         */
        max_pct?: number;
      };
      header?: never;
      path: {
        /**
         * @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
         * @example So11111111111111111111111111111111111111112
         */
        address: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ReplayPage'];
        };
      };
    };
  };
  getReplayPlan: {
    parameters: {
      query?: {
        /**
         * @description Start of the window (inclusive). Default: 24 hours before `to`. Unix epoch seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before now in s, m, h, d or w.
         * @example -1h
         */
        from?: string;
        /**
         * @description End of the window (exclusive). Default: now. Unix epoch seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before now in s, m, h, d or w.
         * @example now
         */
        to?: string;
        /**
         * @description How cells are grouped. Default: `market`.
         * @example market
         */
        group?: 'market' | 'venue' | 'type' | 'all';
        /**
         * @description Market types to include.
         * @example [
         *       "cex_spot",
         *       "cex_perp"
         *     ]
         */
        types?: ('onchain_pool' | 'onchain_limit_order' | 'cex_spot' | 'cex_perp')[];
        /**
         * @description `true` means `types=onchain_pool,onchain_limit_order`.
         * @example true
         */
        onchain?: boolean;
        /**
         * @description Venues to include, by key or by name. Case does not matter.
         * @example [
         *       "binance",
         *       "okx"
         *     ]
         */
        venues?: string[];
        /**
         * @description Market types to exclude; not together with `types`.
         * @example [
         *       "cex_perp"
         *     ]
         */
        exclude_types?: ('onchain_pool' | 'onchain_limit_order' | 'cex_spot' | 'cex_perp')[];
        /**
         * @description Venues to leave out; not together with `venues`. Case does not matter.
         * @example [
         *       "Binance Futures"
         *     ]
         */
        exclude_venues?: string[];
        /**
         * @description Keeps only the newest snapshot of each step, an interval that ends at a multiple of this length (inclusive) since the Unix epoch. Default: every snapshot.
         * @example 1m
         */
        step?: '1m' | '5m' | '15m' | '1h' | '4h' | '1d';
        /**
         * @description Lower end of the band around each snapshot's price, percent.
         * @example -50
         */
        min_pct?: number;
        /**
         * @description Upper end of the band, percent; above `min_pct`.
         * @example 100
         */
        max_pct?: number;
      };
      header?: never;
      path: {
        /**
         * @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
         * @example So11111111111111111111111111111111111111112
         */
        address: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ReplayPlan'];
        };
      };
    };
  };
  getDepthSeries: {
    parameters: {
      query?: {
        /**
         * @description Start of the window (inclusive). Default: 24 hours before `to`. Unix epoch seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before now in s, m, h, d or w.
         * @example -1h
         */
        from?: string;
        /**
         * @description End of the window (exclusive). Default: now. Unix epoch seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before now in s, m, h, d or w.
         * @example now
         */
        to?: string;
        /**
         * @description Time between points. Default: the smallest that gives at most 500 points.
         * @example 1m
         */
        step?: '1m' | '5m' | '15m' | '1h' | '4h' | '1d';
        /**
         * @description Percents of the price. Default: 1,2,5,10.
         * @example [
         *       1,
         *       2,
         *       5,
         *       10
         *     ]
         */
        pct?: number[];
        /**
         * @description How to group the markets. Default: all in one.
         * @example venue
         */
        group?: 'venue' | 'type';
        /**
         * @description Adds `score`: the token's score at the time of each point.
         * @example true
         */
        score?: boolean;
        /**
         * @description Market types to include.
         * @example [
         *       "cex_spot",
         *       "cex_perp"
         *     ]
         */
        types?: ('onchain_pool' | 'onchain_limit_order' | 'cex_spot' | 'cex_perp')[];
        /**
         * @description `true` means `types=onchain_pool,onchain_limit_order`.
         * @example true
         */
        onchain?: boolean;
        /**
         * @description Venues to include, by key or by name. Case does not matter.
         * @example [
         *       "binance",
         *       "okx"
         *     ]
         */
        venues?: string[];
        /**
         * @description Market types to exclude; not together with `types`.
         * @example [
         *       "cex_perp"
         *     ]
         */
        exclude_types?: ('onchain_pool' | 'onchain_limit_order' | 'cex_spot' | 'cex_perp')[];
        /**
         * @description Venues to leave out; not together with `venues`. Case does not matter.
         * @example [
         *       "Binance Futures"
         *     ]
         */
        exclude_venues?: string[];
      };
      header?: never;
      path: {
        /**
         * @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
         * @example So11111111111111111111111111111111111111112
         */
        address: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['DepthSeries'];
        };
      };
    };
  };
  getCoverage: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
         * @example So11111111111111111111111111111111111111112
         */
        address: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Coverage'];
        };
      };
    };
  };
  getTokens: {
    parameters: {
      query?: {
        /**
         * @description Chains to list.
         * @example mainchain
         */
        chain?: 'mainchain' | 'evmchain' | 'all';
        /**
         * @description Beginning of a symbol, name or address.
         * @example so
         */
        query?: string;
        /**
         * @description Maximum number of tokens.
         * @example 20
         */
        limit?: number;
        /**
         * @description `next_cursor` of the page before.
         * @example W2ZhbHNlLDk4LCJTbzExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTEyIiw4ODcwOTQ5MTBd
         */
        cursor?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Tokens'];
        };
      };
    };
  };
  getUsage: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Usage'];
        };
      };
    };
  };
}

/** The documents of requests and replies, and their parts, by name. */

export type AccumulatingHoldersByTier = components['schemas']['AccumulatingHoldersByTier'];
export type AccumulatingHoldersByWindow = components['schemas']['AccumulatingHoldersByWindow'];
export type BalanceChange = components['schemas']['BalanceChange'];
export type BalanceChanges = components['schemas']['BalanceChanges'];
export type BalanceComponent = components['schemas']['BalanceComponent'];
export type BatchScore = components['schemas']['BatchScore'];
export type BatchWhaleActivity = components['schemas']['BatchWhaleActivity'];
export type BoardToken = components['schemas']['BoardToken'];
export type Coverage = components['schemas']['Coverage'];
export type CoveredMarket = components['schemas']['CoveredMarket'];
export type DayUsage = components['schemas']['DayUsage'];
export type DcaFlows = components['schemas']['DcaFlows'];
export type DcaOrder = components['schemas']['DcaOrder'];
export type DcaOrders = components['schemas']['DcaOrders'];
export type DcaOrdersParameters = components['schemas']['DcaOrdersParameters'];
export type DcaPressure = components['schemas']['DcaPressure'];
export type DcaPressureParameters = components['schemas']['DcaPressureParameters'];
export type DcaPriceRange = components['schemas']['DcaPriceRange'];
export type DepthComponent = components['schemas']['DepthComponent'];
export type DepthLevel = components['schemas']['DepthLevel'];
export type DepthOfExchangeType = components['schemas']['DepthOfExchangeType'];
export type DepthOfSource = components['schemas']['DepthOfSource'];
export type DepthSeries = components['schemas']['DepthSeries'];
export type DepthSummary = components['schemas']['DepthSummary'];
export type DlmmChip = components['schemas']['DlmmChip'];
export type DlmmChips = components['schemas']['DlmmChips'];
export type DlmmLeaders = components['schemas']['DlmmLeaders'];
export type DlmmPool = components['schemas']['DlmmPool'];
export type DlmmPoolBoard = components['schemas']['DlmmPoolBoard'];
export type DlmmPoolFigures = components['schemas']['DlmmPoolFigures'];
export type DlmmPoolRow = components['schemas']['DlmmPoolRow'];
export type DlmmPools = components['schemas']['DlmmPools'];
export type EndpointUsage = components['schemas']['EndpointUsage'];
export type FeeDensity = components['schemas']['FeeDensity'];
export type FoundToken = components['schemas']['FoundToken'];
export type HistoryGap = components['schemas']['HistoryGap'];
export type HolderDay = components['schemas']['HolderDay'];
export type HolderDaysByTier = components['schemas']['HolderDaysByTier'];
export type HolderFlow = components['schemas']['HolderFlow'];
export type HolderFlowsByTier = components['schemas']['HolderFlowsByTier'];
export type HolderFlowsByWindow = components['schemas']['HolderFlowsByWindow'];
export type HolderSummary = components['schemas']['HolderSummary'];
export type LimitOrder = components['schemas']['LimitOrder'];
export type LimitOrders = components['schemas']['LimitOrders'];
export type LimitOrdersParameters = components['schemas']['LimitOrdersParameters'];
export type LpCheatSheet = components['schemas']['LpCheatSheet'];
export type MarketDepth = components['schemas']['MarketDepth'];
export type MarketDepthParameters = components['schemas']['MarketDepthParameters'];
export type NewHoldersByTier = components['schemas']['NewHoldersByTier'];
export type NewHoldersByWindow = components['schemas']['NewHoldersByWindow'];
export type NoCoverage = components['schemas']['NoCoverage'];
export type OrdersToken = components['schemas']['OrdersToken'];
export type PlannedPage = components['schemas']['PlannedPage'];
export type PressureFlows = components['schemas']['PressureFlows'];
export type ReplayFacets = components['schemas']['ReplayFacets'];
export type ReplayFilter = components['schemas']['ReplayFilter'];
export type ReplayGroup = components['schemas']['ReplayGroup'];
export type ReplayMarket = components['schemas']['ReplayMarket'];
export type ReplayPage = components['schemas']['ReplayPage'];
export type ReplayPlan = components['schemas']['ReplayPlan'];
export type ReplayPlanWindow = components['schemas']['ReplayPlanWindow'];
export type ReplaySnapshot = components['schemas']['ReplaySnapshot'];
export type ReplayWindow = components['schemas']['ReplayWindow'];
export type Score = components['schemas']['Score'];
export type ScoreBatch = components['schemas']['ScoreBatch'];
export type ScoreBatchRequest = components['schemas']['ScoreBatchRequest'];
export type ScoreComponents = components['schemas']['ScoreComponents'];
export type ScoreExplanation = components['schemas']['ScoreExplanation'];
export type ScoreLeg = components['schemas']['ScoreLeg'];
export type ScoreWeight = components['schemas']['ScoreWeight'];
export type Slippage = components['schemas']['Slippage'];
export type SlippageMove = components['schemas']['SlippageMove'];
export type SlippageQuote = components['schemas']['SlippageQuote'];
export type SlippageVenue = components['schemas']['SlippageVenue'];
export type TierCoverage = components['schemas']['TierCoverage'];
export type TokenPressure = components['schemas']['TokenPressure'];
export type Tokens = components['schemas']['Tokens'];
export type TokensParameters = components['schemas']['TokensParameters'];
export type TopScore = components['schemas']['TopScore'];
export type TopScoreDepth = components['schemas']['TopScoreDepth'];
export type TopScores = components['schemas']['TopScores'];
export type TypeFacet = components['schemas']['TypeFacet'];
export type Usage = components['schemas']['Usage'];
export type VenueFacet = components['schemas']['VenueFacet'];
export type Wallet = components['schemas']['Wallet'];
export type WalletDay = components['schemas']['WalletDay'];
export type WhaleActivity = components['schemas']['WhaleActivity'];
export type WhaleActivityBatch = components['schemas']['WhaleActivityBatch'];
export type WhaleActivityBatchRequest = components['schemas']['WhaleActivityBatchRequest'];

/** Method and path of each operation. */

export const OPERATIONS = {
  getScore: { method: 'GET', path: '/score/{address}' },
  postScore: { method: 'POST', path: '/score' },
  getTopScores: { method: 'GET', path: '/top-scores' },
  getMarketDepth: { method: 'GET', path: '/market-depth' },
  getSlippage: { method: 'GET', path: '/slippage/{address}' },
  getDcaPressure: { method: 'GET', path: '/dca-pressure' },
  getDcaOrders: { method: 'GET', path: '/dca-orders' },
  getLimitOrders: { method: 'GET', path: '/limit-orders' },
  getWhaleActivity: { method: 'GET', path: '/whale-activity' },
  postWhaleActivity: { method: 'POST', path: '/whale-activity' },
  getDlmm: { method: 'GET', path: '/dlmm/{address}' },
  getDlmmPools: { method: 'GET', path: '/dlmm-pools' },
  getLpCheatSheet: { method: 'GET', path: '/lp-cheat-sheet' },
  getReplay: { method: 'GET', path: '/replay/{address}' },
  getReplayPlan: { method: 'GET', path: '/replay/{address}/plan' },
  getDepthSeries: { method: 'GET', path: '/depth-series/{address}' },
  getCoverage: { method: 'GET', path: '/coverage/{address}' },
  getTokens: { method: 'GET', path: '/tokens' },
  getUsage: { method: 'GET', path: '/usage' },
} as const;
