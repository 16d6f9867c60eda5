"""Types of the API. Written by generate.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fathom_client.documents import Document
from fathom_client.series import SeriesDocument


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveSubscribed(Document):
    type: Literal["subscribed"]
    id: str
    """
    The id of the subscription.
    """
    token: str | None = None
    """
    Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
    """
    resolved_token: str | None = None
    """
    The mainchain mint whose data are shown for a bridged `0x` address.
    """
    chain: Literal["mainchain", "evmchain"] | None = None
    """
    Chain key.
    """
    clamped: Literal[True] | None = None
    """
    `from`, or the time of the cursor, was more than 365 days ago, and was raised to 365 days ago.
    """
    venues_not_found: list[str] | None = None
    """
    Requested venues of which the token has no market so far.
    """
    channel: Literal["depth", "score", "top-scores", "dca-pressure"] | None = None
    next_from: int | None = None
    """
    The time from which new snapshots follow, Unix epoch seconds
    """
    cursor: str | None = None
    """
    The progress of the subscription; opaque.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveDeleted(Document):
    type: Literal["deleted"]
    id: str
    """
    The id of the subscription.
    """
    t: list[int]
    """
    Unix epoch seconds.
    """
    next_from: int
    """
    The time from which new snapshots follow, Unix epoch seconds
    """
    cursor: str
    """
    The progress of the subscription; opaque.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveReset(Document):
    type: Literal["reset"]
    id: str
    """
    The id of the subscription.
    """
    reason: str
    next_from: int
    """
    The time from which new snapshots follow, Unix epoch seconds
    """
    cursor: str
    """
    The progress of the subscription; opaque.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveLagged(Document):
    type: Literal["lagged"]
    id: str
    """
    The id of the subscription.
    """
    next_from: int
    """
    The time from which new snapshots follow, Unix epoch seconds
    """
    cursor: str
    """
    The progress of the subscription; opaque.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveHeartbeat(Document):
    type: Literal["heartbeat"]
    id: str
    """
    The id of the subscription.
    """
    t: int
    """
    The server's time, Unix epoch seconds
    """
    next_from: int | None = None
    """
    The time from which new snapshots follow, Unix epoch seconds
    """
    cursor: str | None = None
    """
    The progress of the subscription; opaque.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class AccumulatingHoldersByWindow(Document):
    last_1d: int
    """
    Wallets of the tier that already held the token and hold more now
    """
    last_7d: int
    """
    Wallets of the tier that already held the token and hold more now
    """
    last_30d: int
    """
    Wallets of the tier that already held the token and hold more now
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class BalanceChange(Document):
    tokens: float
    """
    Change in the balance, tokens; 0 if no snapshot is that old
    """
    pct: float | None
    """
    Change as a fraction of the earlier balance: 0.25 is 25%. Null if that balance was 0, or if no snapshot is that old.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class BalanceChanges(Document):
    last_1d: BalanceChange
    last_7d: BalanceChange
    last_14d: BalanceChange
    last_30d: BalanceChange


@dataclass(frozen=True, kw_only=True, slots=True)
class BalanceComponent(Document):
    """
    1 - |S - R| / D; 0 if D < 1.
    """

    value: float
    """
    Value of the component, 0 to 1.
    """
    points: float
    """
    Points that it adds to the score: 20 times the value
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchScore(Document):
    address: str
    """
    Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
    """
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    symbol: str | None
    """
    Symbol; null if unknown.
    """
    service_score: float | None
    """
    Liquidity score of the asset, 0 to 100 with one decimal; null if not scored.
    """
    data_time: int | None
    """
    Time of the token's newest snapshot, Unix epoch seconds; null without one.
    """
    status: Literal["available", "pending", "unsupported", "unscored", "price_unavailable"]
    """
    `available`: scored. `pending`: not scored yet; the score follows its data within 15 seconds. `unsupported`: on mainchain, permanently excluded; on evmchain, not indexed yet, do not poll. `unscored`: depth and price only, never scored. `price_unavailable`: supported, but without a price.
    """
    stale: bool | None = None
    """
    True if the newest snapshot that the score is based on is older than the server allows (`stale_after`, 1 hour unless configured), absent otherwise. The score keeps its value.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class BoardToken(Document):
    address: str
    """
    Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
    """
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    symbol: str | None
    """
    Symbol; null if unknown.
    """
    name: str | None
    """
    Name; null if unknown.
    """
    icon: str | None
    """
    URL of an icon; null if unknown.
    """
    mcap: float | None
    """
    Market capitalisation, USD; null if unknown.
    """
    liquidity_usd: float | None
    """
    Liquidity from the token list, USD; null if unknown. `min_liquidity` and `max_liquidity` compare Support Liquidity, which is a different figure.
    """
    price_usd: float | None
    """
    Current price, USD; null if unknown.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class CoveredMarket(Document):
    source: str
    exchange_type: Literal["DEX", "CEX"]
    type: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
    """
    Type of market.
    """
    address: str | None
    """
    Address of the pool or order book; null if it has none.
    """
    pair: str | None
    """
    Null if the market has none.
    """
    first_t: int
    """
    Time of the first snapshot with any of its depth, Unix epoch seconds
    """
    last_t: int
    """
    Time of the last, Unix epoch seconds
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class DayUsage(Document):
    date: str
    requests: int
    """
    Calls charged
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class DcaFlows(Document):
    """
    Amounts that the order will trade from now on, capped at what remains; 0 out of range.
    """

    usd_next_5_min: float
    """
    Amount that the order trades in the next 5 min, USD
    """
    usd_next_30_min: float
    """
    Amount that the order trades in the next 30 min, USD
    """
    usd_next_1_hr: float
    """
    Amount that the order trades in the next 1 hr, USD
    """
    usd_next_6_hr: float
    """
    Amount that the order trades in the next 6 hr, USD
    """
    usd_next_24_hr: float
    """
    Amount that the order trades in the next 24 hr, USD
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class DcaOrdersParameters(Document):
    token_address: str
    """
    Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
    """
    sort_by: Literal["pct_impact", "usd_flow"]
    limit: int
    chain: Literal["mainchain"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DcaPressureParameters(Document):
    sort_by: Literal["usd", "impact"]
    sort_timeframe: Literal["5_min", "30_min", "1_hr", "6_hr", "24_hr"]
    include_orders: bool
    limit: int
    chain: Literal["mainchain"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DcaPriceRange(Document):
    """
    Prices at which the order trades.
    """

    min_usd: float | None
    """
    Lowest price, USD; null if unbounded.
    """
    max_usd: float | None
    """
    Highest price, USD; null if unbounded.
    """
    current_price_usd: float | None
    """
    Current price, USD; null if unknown.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class DepthComponent(Document):
    """
    clamp(log10(D / 1000) / 5, 0, 1); 0 if D < 1.
    """

    value: float
    """
    Value of the component, 0 to 1.
    """
    points: float
    """
    Points that it adds to the score: 80 times the value
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class DepthLevel(Document):
    price: float
    """
    Price of the level in `currency`
    """
    support: float
    """
    Buy liquidity without constant product, in `currency`
    """
    resistance: float
    """
    Sell liquidity without constant product, in `currency`
    """
    constant_product: float
    """
    Constant-product liquidity of both sides, in `currency`
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class DepthOfExchangeType(Document):
    exchange_type: Literal["DEX", "CEX"]
    support: float
    """
    Buy liquidity without constant product, in `currency`
    """
    resistance: float
    """
    Sell liquidity without constant product, in `currency`
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class DepthOfSource(Document):
    source: str
    support: float
    """
    Buy liquidity without constant product, in `currency`
    """
    resistance: float
    """
    Sell liquidity without constant product, in `currency`
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class DepthSummary(Document):
    """
    With `include_summary=true`: totals of `depth_data`. One row per exchange type and per source with depth in the range; sources are in code unit order.
    """

    by_exchange_type: list[DepthOfExchangeType]
    by_source: list[DepthOfSource]
    constant_product: float
    """
    Constant-product liquidity of both sides, in `currency`
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class DlmmChip(Document):
    key: Literal["feesPerAvgTvl", "rangeYield", "fees"]
    label: str
    """
    Label of the leading pool
    """
    tip: str
    """
    What it means
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class DlmmLeaders(Document):
    """
    Per key, the token's pool with the highest value above 0 this hour; ties go to the lower pubkey.
    """

    feesPerAvgTvl: str | None = None
    """
    Pubkey of the leading pool; absent if there is none
    """
    rangeYield: str | None = None
    """
    Pubkey of the leading pool; absent if there is none
    """
    fees: str | None = None
    """
    Pubkey of the leading pool; absent if there is none
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class DlmmPoolFigures(Document):
    fees: float
    """
    Fees of the period, USD
    """
    volume: float
    """
    Volume of the period, USD
    """
    tvl: float
    """
    Mean hourly TVL, over the hours with data, USD
    """
    effectiveFeeBps: float | None
    """
    Fees over volume, basis points; null without volume.
    """
    feesPerAvgTvl: float | None
    """
    `fees` over `tvl`; null if `tvl` is 0.
    """
    captureShare: float | None
    """
    Share of the fees of all pools with the same base token; null if they have no fees.
    """
    feeCapture: float | None
    """
    `captureShare` over the pool's share of those pools' TVL; null if either is undefined.
    """
    rangeTvl: float | None
    """
    Mean liquidity of the pool, USD, within the base token's price range over the period, extended by half a bin at both ends; null without depth of this pool in that range.
    """
    rangeYield: float | None
    """
    `fees` over `rangeTvl`; null if that is null.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class DlmmPoolRow(Document):
    address: str
    """
    Address of the pool
    """
    baseSymbol: str | None
    """
    Symbol; null if unknown.
    """
    quoteSymbol: str | None
    """
    Symbol; null if unknown.
    """
    baseMint: str
    """
    Mint of the base token
    """
    quoteMint: str
    """
    Mint of the quote token: the one that ranks higher in the configured list of quote tokens; y if neither is in it
    """
    tokenIcon: str | None
    """
    URL of the base token's icon; null if unknown.
    """
    tvl: float
    """
    Mean hourly TVL, over the hours with data, USD
    """
    binStep: int
    """
    Basis points between two bins
    """
    baseFeePct: float
    """
    Base fee, percent
    """
    volume: float
    """
    Volume of the period, USD
    """
    fees: float
    """
    Fees of the period, USD
    """
    effectiveFeeBps: float | None
    """
    Fees over volume, basis points; null without volume.
    """
    feesPerAvgTvl: float | None
    """
    `fees` over `tvl`; null if `tvl` is 0.
    """
    captureShare: float | None
    """
    Share of the fees of all pools with the same base token; null if they have no fees.
    """
    feeCapture: float | None
    """
    `captureShare` over the pool's share of those pools' TVL; null if either is undefined.
    """
    rangeTvl: float | None
    """
    Mean liquidity of the pool, USD, within the base token's price range over the period, extended by half a bin at both ends; null without depth of this pool in that range.
    """
    rangeYield: float | None
    """
    `fees` over `rangeTvl`; null if that is null.
    """
    rangeCeiling: float | None
    """
    Range yield of a liquidity provider that rebalances perfectly: the sum over hours of fees over the liquidity in that hour's own range; null if no hour has such liquidity.
    """
    tokenPoolCount: int
    """
    Pools of the row's base token, on the board or not
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointUsage(Document):
    endpoint: str
    """
    Method and path, such as `GET /score/:address`.
    """
    requests: int
    """
    Calls charged
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class FeeDensity(Document):
    rank: int
    """
    Rank on the full list, from 1
    """
    address: str
    """
    Mint
    """
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    symbol: str | None
    """
    Symbol; null if unknown.
    """
    name: str | None
    """
    Name; null if unknown.
    """
    icon: str | None
    """
    URL of its icon; null if unknown.
    """
    organic_volume: float
    """
    Organic volume of the window, USD
    """
    denom_liquidity_usd: float
    """
    Liquidity, as chosen by `denominator`, USD
    """
    fee_density: float
    """
    `organic_volume` over `denom_liquidity_usd`
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundToken(Document):
    address: str
    """
    Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
    """
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    symbol: str | None
    """
    Symbol; null if unknown.
    """
    name: str | None
    """
    Name; null if unknown.
    """
    icon: str | None
    """
    URL of an icon; null if unknown.
    """
    price_usd: float | None
    """
    Current price, USD; null if unknown.
    """
    service_score: float | None
    """
    Liquidity score of the asset, 0 to 100 with one decimal; null if not scored.
    """
    status: Literal["available", "pending", "unsupported", "unscored", "price_unavailable"]
    """
    `available`: scored. `pending`: not scored yet; the score follows its data within 15 seconds. `unsupported`: on mainchain, permanently excluded; on evmchain, not indexed yet, do not poll. `unscored`: depth and price only, never scored. `price_unavailable`: supported, but without a price.
    """
    last_refresh: int | None
    """
    Time of the snapshot that the price is from, else of the token's record, Unix epoch seconds; null if there is neither.
    """
    first_snapshot_at: int | None
    """
    Time of the token's first snapshot, Unix epoch seconds; null without one.
    """
    last_snapshot_at: int | None
    """
    Time of its newest snapshot, Unix epoch seconds; null without one.
    """
    stale: bool | None = None
    """
    True if the newest snapshot that the score is based on is older than the server allows (`stale_after`, 1 hour unless configured), absent otherwise. The score keeps its value.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryGap(Document):
    tier: Literal["raw", "15m", "1h"]
    """
    Density at which snapshots are kept.
    """
    from_: int
    """
    Time of the snapshot before the gap, Unix epoch seconds
    """
    to: int
    """
    Time of the snapshot after it, Unix epoch seconds
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class HolderDay(Document):
    day: str
    """
    UTC day, YYYY-MM-DD
    """
    accumulating: int
    """
    Wallets of the tier that already held the token and hold more now
    """
    new_wallets: int
    """
    Wallets of the tier that did not hold the token before
    """
    net: float
    """
    Sum of `inflow` and `outflow`, tokens
    """
    inflow: float
    """
    Sum of the increases in balance, tokens
    """
    outflow: float
    """
    Sum of the decreases in balance, tokens; 0 or negative
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class HolderDaysByTier(Document):
    top20: list[HolderDay]
    """
    One item per day, ascending.
    """
    top50: list[HolderDay]
    """
    One item per day, ascending.
    """
    top100: list[HolderDay]
    """
    One item per day, ascending.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class HolderFlow(Document):
    net: float
    """
    Sum of `inflow` and `outflow`, tokens
    """
    inflow: float
    """
    Sum of the increases in balance, tokens
    """
    outflow: float
    """
    Sum of the decreases in balance, tokens; 0 or negative
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class HolderFlowsByWindow(Document):
    last_1d: HolderFlow
    last_7d: HolderFlow
    last_30d: HolderFlow


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitOrder(Document):
    order_address: str
    """
    Address of the order
    """
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    direction: Literal["BUY", "SELL"]
    """
    Whether the order buys or sells the token.
    """
    platform: str
    """
    Name of the order platform, as given
    """
    symbol: str | None
    """
    Symbol; null if unknown.
    """
    paired_symbol: str
    """
    Symbol of the token on the other side
    """
    maker: str
    """
    Wallet address
    """
    usd_price: float
    """
    Price of the order, USD
    """
    current_price_usd: float
    """
    Current price of the order's own leg, USD
    """
    pct_away: float
    """
    `usd_price / current_price_usd - 1`, as a fraction: -0.21 is 21% below.
    """
    usd_support_amount: float
    """
    Remaining amount of a BUY order; 0 for a SELL order, USD
    """
    usd_resistance_amount: float
    """
    Remaining amount of a SELL order; 0 for a BUY order, USD
    """
    pct_complete: float
    """
    Filled share, as a fraction: 0.25 is 25%.
    """
    created_at: int
    """
    Time of creation, Unix epoch seconds
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitOrdersParameters(Document):
    token_address: str
    """
    Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
    """
    low_pct_change: float
    high_pct_change: float
    limit: int
    chain: Literal["mainchain", "evmchain", "all"]
    """
    Chains listed.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class LpCheatSheet(Document):
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    window: Literal["1h", "6h", "24h"]
    denominator: Literal["near", "bin10", "range"]
    limit: int
    count: int
    """
    Items of `data`
    """
    data: list[FeeDensity]


@dataclass(frozen=True, kw_only=True, slots=True)
class MarketDepthParameters(Document):
    token_address: str
    """
    Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
    """
    exchange_type: Literal["DEX", "CEX", "ALL"]
    currency: str
    delayed: bool
    include_summary: bool
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class NewHoldersByWindow(Document):
    last_1d: int
    """
    Wallets of the tier that did not hold the token before
    """
    last_7d: int
    """
    Wallets of the tier that did not hold the token before
    """
    last_30d: int
    """
    Wallets of the tier that did not hold the token before
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class NoCoverage(Document):
    """
    Returned when the token has no coverage.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class OrdersToken(Document):
    address: str
    """
    Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
    """
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    symbol: str | None
    """
    Symbol; null if unknown.
    """
    name: str | None
    """
    Name; null if unknown.
    """
    mcap: float | None
    """
    Market capitalisation, USD; null if unknown.
    """
    liquidity_usd: float | None
    """
    Liquidity from the token list, USD; null if unknown. `min_liquidity` and `max_liquidity` compare Support Liquidity, which is a different figure.
    """
    service_score: float | None
    """
    Liquidity score of the asset, 0 to 100 with one decimal; null if not scored.
    """
    price_usd: float | None
    """
    Current price, USD; null if unknown.
    """
    last_refresh: int | None
    """
    Time of the snapshot that the price is from, else of the token's record, Unix epoch seconds; null if there is neither.
    """
    stale: bool | None = None
    """
    True if the newest snapshot that the score is based on is older than the server allows (`stale_after`, 1 hour unless configured), absent otherwise. The score keeps its value.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedPage(Document):
    from_: int
    """
    `from` of the page, Unix epoch seconds
    """
    snapshot_count: int
    """
    Snapshots on the page
    """
    row_count: int
    """
    Cells on the page
    """
    approx_bytes: int
    """
    Approximate bytes of the page as uncompressed JSON
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class PressureFlows(Document):
    net_usd_5_min: float
    """
    Amount that BUY orders trade less that of SELL orders, within the timeframe, USD
    """
    net_pct_5_min: float | None
    """
    The move of the price that this net flow would cause, percent: to where `/slippage` ends for an order of it, without perps, or to the end of the ladder if the flow is larger. 0 for no flow, null without depth on the side that it takes.
    """
    net_usd_30_min: float
    """
    Amount that BUY orders trade less that of SELL orders, within the timeframe, USD
    """
    net_pct_30_min: float | None
    """
    The move of the price that this net flow would cause, percent: to where `/slippage` ends for an order of it, without perps, or to the end of the ladder if the flow is larger. 0 for no flow, null without depth on the side that it takes.
    """
    net_usd_1_hr: float
    """
    Amount that BUY orders trade less that of SELL orders, within the timeframe, USD
    """
    net_pct_1_hr: float | None
    """
    The move of the price that this net flow would cause, percent: to where `/slippage` ends for an order of it, without perps, or to the end of the ladder if the flow is larger. 0 for no flow, null without depth on the side that it takes.
    """
    net_usd_6_hr: float
    """
    Amount that BUY orders trade less that of SELL orders, within the timeframe, USD
    """
    net_pct_6_hr: float | None
    """
    The move of the price that this net flow would cause, percent: to where `/slippage` ends for an order of it, without perps, or to the end of the ladder if the flow is larger. 0 for no flow, null without depth on the side that it takes.
    """
    net_usd_24_hr: float
    """
    Amount that BUY orders trade less that of SELL orders, within the timeframe, USD
    """
    net_pct_24_hr: float | None
    """
    The move of the price that this net flow would cause, percent: to where `/slippage` ends for an order of it, without perps, or to the end of the ladder if the flow is larger. 0 for no flow, null without depth on the side that it takes.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayFilter(Document):
    types: list[str] | None
    """
    As sent, venues as keys; null if not sent.
    """
    venues: list[str] | None
    """
    As sent, venues as keys; null if not sent.
    """
    exclude_types: list[str] | None
    """
    As sent, venues as keys; null if not sent.
    """
    exclude_venues: list[str] | None
    """
    As sent, venues as keys; null if not sent.
    """
    venues_not_found: list[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayGroup(Document):
    key: str
    label: str
    type: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
    """
    Type of market.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayMarket(Document):
    source: str
    exchange_type: Literal["DEX", "CEX"]
    address: str | None
    """
    Address of the pool or order book; null if it has none.
    """
    pair: str | None
    """
    Null if the market has none.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayPlanWindow(Document):
    from_: int
    """
    Start, after clamping to the last 365 days, Unix epoch seconds
    """
    to: int
    """
    End, Unix epoch seconds
    """
    clamped: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplaySnapshot(Document):
    t: int
    """
    Time, Unix epoch seconds
    """
    tier: Literal["raw", "15m", "1h"]
    """
    Density at which snapshots of this age are kept.
    """
    price_usd: float
    """
    Price, USD
    """
    bin: list[int]
    """
    Bins: price = price_usd * 1.01^bin.
    """
    support_usd: list[float]
    """
    Support, USD, exact to the cent.
    """
    resistance_usd: list[float]
    """
    Resistance, USD, exact to the cent.
    """
    market_idx: list[int] | None = None
    """
    Index into `markets`, one per cell.
    """
    group_idx: list[int] | None = None
    """
    Index into `groups`, one per cell.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayWindow(Document):
    from_: int
    """
    Start, after clamping to the last 365 days, Unix epoch seconds
    """
    to: int
    """
    End, Unix epoch seconds
    """
    clamped: bool
    served_from: int | None
    """
    Time of the first snapshot; null if the page is empty.
    """
    served_to: int | None
    """
    Time of the last snapshot; null if the page is empty.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreBatch(Document):
    count: int
    """
    Items of `tokens`
    """
    tokens: list[BatchScore]
    invalid_addresses: list[str]
    """
    Items of the request that are not addresses, as sent; they are not in `tokens`.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreComponents(Document):
    depth: DepthComponent
    balance: BalanceComponent


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreLeg(Document):
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    address: str
    """
    Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
    """
    t: int
    """
    Time of the snapshot that was used, Unix epoch seconds
    """
    tier: Literal["raw", "15m", "1h"]
    price_usd: float
    """
    Price of the snapshot, USD
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreWeight(Document):
    bin: int
    """
    Bin of the 1% ladder: price = price of the leg * 1.01^bin.
    """
    weight: float
    """
    max(0, 1 - |1.01^bin - 1| / 0.25)
    """
    support: float
    """
    Support of all legs in this bin, perps left out, USD
    """
    resistance: float
    """
    Resistance of all legs in this bin, perps left out, USD
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class SlippageMove(Document):
    move_pct: float
    """
    Move of the price, percent
    """
    usd: float
    """
    Depth up to the moved price; beyond the end of the ladder, all depth, USD
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class SlippageVenue(Document):
    key: str
    label: str
    type: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
    """
    Type of market.
    """
    usd: float
    """
    Its part of the order, USD
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class TierCoverage(Document):
    tier: Literal["raw", "15m", "1h"]
    """
    Density at which snapshots are kept.
    """
    snapshot_count: int
    """
    Stored snapshots; /replay leaves out those of a coarse tier if finer ones cover the same time.
    """
    first_t: int
    """
    Time of the first, Unix epoch seconds
    """
    last_t: int
    """
    Time of the last, Unix epoch seconds
    """
    median_interval_s: float | None
    """
    Median of the newest 1000 intervals between them, seconds; null with a single snapshot.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class TokensParameters(Document):
    query: str | None
    chain: Literal["mainchain", "evmchain", "all"]
    """
    Chains listed.
    """
    limit: int
    cursor: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TopScoreDepth(Document):
    """
    With `details=true`: depth of all legs that the score is based on, without perps.
    """

    support: float
    """
    Support within 2% below the price, USD
    """
    resistance: float
    """
    Resistance within 2% above the price, USD
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class TypeFacet(Document):
    key: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
    """
    Type of market.
    """
    label: str
    usd: float
    """
    Mean depth, USD
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage(Document):
    tier: Literal["premium", "enterprise"]
    """
    The key's tier.
    """
    month: str
    """
    UTC month.
    """
    used: int
    """
    Calls charged
    """
    limit: int | None
    """
    Calls a month; null: unlimited.
    """
    remaining: int | None
    """
    Calls left this month; null: unlimited.
    """
    resets_at: int
    """
    When the next month begins, Unix epoch seconds
    """
    days: list[DayUsage]
    """
    Days with calls, ascending.
    """
    endpoints: list[EndpointUsage]
    """
    Endpoints with calls, the most used first, then by name.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class VenueFacet(Document):
    key: str
    label: str
    type: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
    """
    Type of market.
    """
    usd: float
    """
    Mean depth, USD
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class WalletDay(Document):
    day: str
    """
    UTC day, YYYY-MM-DD
    """
    balance: float | None
    """
    Balance in the day's last snapshot, tokens; 0 if the wallet is not in it, null if the day has no snapshot.
    """
    change: float
    """
    Change since the last snapshot of an earlier day, tokens; 0 if either snapshot is missing
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveSnapshots(Document):
    type: Literal["snapshots"]
    id: str
    """
    The id of the subscription.
    """
    markets: list[ReplayMarket]
    """
    Those with cells in this message; empty unless `group` is `market`.
    """
    groups: list[ReplayGroup]
    """
    Those with cells in this message; empty unless `group` is `venue` or `type`.
    """
    snapshots: list[ReplaySnapshot]
    """
    Ascending in time.
    """
    next_from: int
    """
    The time from which new snapshots follow, Unix epoch seconds
    """
    cursor: str
    """
    The progress of the subscription; opaque.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveRevised(Document):
    type: Literal["revised"]
    id: str
    """
    The id of the subscription.
    """
    markets: list[ReplayMarket]
    """
    Those with cells in this message; empty unless `group` is `market`.
    """
    groups: list[ReplayGroup]
    """
    Those with cells in this message; empty unless `group` is `venue` or `type`.
    """
    snapshots: list[ReplaySnapshot]
    """
    Ascending in time.
    """
    next_from: int
    """
    The time from which new snapshots follow, Unix epoch seconds
    """
    cursor: str
    """
    The progress of the subscription; opaque.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class AccumulatingHoldersByTier(Document):
    top20: AccumulatingHoldersByWindow
    top50: AccumulatingHoldersByWindow
    top100: AccumulatingHoldersByWindow


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage(Document):
    token: str
    """
    Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
    """
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    tiers: list[TierCoverage]
    """
    Tiers that have snapshots, the finest first.
    """
    gaps: list[HistoryGap]
    """
    Neighbouring snapshots of a tier more than 3 times its median interval apart, newest first.
    """
    gaps_truncated: bool
    """
    Whether there are more than 1000 gaps.
    """
    markets: list[CoveredMarket]
    """
    Markets with any depth, in the order of their first appearance.
    """
    resolved_token: str | None = None
    """
    The mainchain mint whose data are shown for a bridged `0x` address.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class DcaOrder(Document):
    dca_address: str
    """
    Address of the order
    """
    chain: Literal["mainchain"]
    """
    DCA orders exist on mainchain only.
    """
    direction: Literal["BUY", "SELL"]
    """
    Whether the order buys or sells the token.
    """
    symbol: str | None
    """
    Symbol; null if unknown.
    """
    paired_symbol: str
    """
    Symbol of the token on the other side
    """
    deposited_usd: float
    """
    Amount deposited, USD
    """
    remaining_usd: float
    """
    Amount left to trade, USD
    """
    pct_filled: float | None
    """
    `1 - remaining_usd / deposited_usd` as a fraction: 0.25 is 25%, and below 0 if more is left than was deposited; null if nothing was deposited.
    """
    in_active_range: bool
    """
    Whether the current price is within `price_range` (inclusive); false without a current price.
    """
    cycle_frequency: float
    """
    Seconds between two cycles
    """
    price_range: DcaPriceRange
    flow_projections: DcaFlows


@dataclass(frozen=True, kw_only=True, slots=True)
class DcaOrders(Document):
    query_parameters: DcaOrdersParameters
    token: OrdersToken
    count: int
    """
    Items of `orders`
    """
    orders: list[DcaOrder]


@dataclass(frozen=True, kw_only=True, slots=True)
class DepthSeries(SeriesDocument):
    token: str
    """
    Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
    """
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    window: ReplayPlanWindow
    step: Literal["1m", "5m", "15m", "1h", "4h", "1d"]
    pct: list[float]
    t: list[int]
    """
    Points: multiples of the step, Unix epoch seconds.
    """
    snapshot_t: list[int]
    """
    Time of the snapshot of each point, Unix epoch seconds.
    """
    price_usd: list[float]
    support_usd: list[list[float]] | list[list[list[float]]]
    """
    Support within the percent below the price, USD: `[pct][point]`, with `group` `[group][pct][point]`.
    """
    resistance_usd: list[list[float]] | list[list[list[float]]]
    """
    Resistance within the percent above the price, USD: `[pct][point]`, with `group` `[group][pct][point]`.
    """
    next_from: int | None
    """
    `from` of the next reply; null on the last one.
    """
    resolved_token: str | None = None
    """
    The mainchain mint whose data are shown for a bridged `0x` address.
    """
    venues_not_found: list[str] | None = None
    """
    Requested venues of which the token has no market so far.
    """
    groups: list[ReplayGroup] | None = None
    """
    Groups with depth in the reply. Absent without `group`.
    """
    score: list[float | None] | None = None
    """
    With `score=true`: what `/score/:address?at=` returns at `t`, null if no score.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class DlmmChips(Document):
    definitions: list[DlmmChip]
    leaders: DlmmLeaders


@dataclass(frozen=True, kw_only=True, slots=True)
class DlmmPool(Document):
    pubkey: str
    """
    Address of the pool
    """
    bin_step: int
    """
    Price step between two bins, basis points
    """
    active_id: int
    """
    Active bin
    """
    token_x_mint: str
    """
    Mint of side x
    """
    token_x_symbol: str | None
    """
    Symbol; null if unknown.
    """
    token_x_icon: str | None
    """
    URL of its icon; null if unknown.
    """
    token_x_decimals: int
    """
    Decimals of the token, as the pool has them
    """
    token_x_price: float | None
    """
    Current price of the token, USD; null without one.
    """
    token_y_mint: str
    """
    Mint of side y
    """
    token_y_symbol: str | None
    """
    Symbol; null if unknown.
    """
    token_y_icon: str | None
    """
    URL of its icon; null if unknown.
    """
    token_y_decimals: int
    """
    Decimals of the token, as the pool has them
    """
    token_y_price: float | None
    """
    Current price of the token, USD; null without one.
    """
    pool_price: float | None
    """
    Price of x in y, `(1 + bin_step/10000)^active_id * 10^(decimals of x - of y)`; null if it is not finite.
    """
    base_fee_pct: float
    """
    Base fee, percent
    """
    dynamic_fee_pct: float
    """
    Fee at the current volatility, percent
    """
    reserve_x: float
    """
    Reserve of this side, tokens
    """
    reserve_x_usd: float | None
    """
    The reserve at the current price, USD; null without one.
    """
    reserve_y: float
    """
    Reserve of this side, tokens
    """
    reserve_y_usd: float | None
    """
    The reserve at the current price, USD; null without one.
    """
    total_liquidity_usd: float | None
    """
    Value of both reserves, USD; null if either is null.
    """
    num_positions: int
    """
    Open positions
    """
    num_wallets: int
    """
    Wallets with an open position
    """
    stats_1h: DlmmPoolFigures | None
    """
    Figures of this hour; null if the pool has no data for it.
    """
    chips: list[str]
    """
    Labels of the chips that the pool has.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class DlmmPoolBoard(Document):
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    period: Literal["1h", "2h", "4h", "12h", "24h"]
    sort: Literal["rangeyield", "feespertvl", "fees", "volume", "tvl"]
    minTvl: float
    """
    The floor that was applied, USD
    """
    mint: str | None
    """
    The requested token; null for the board of all pools.
    """
    count: int
    """
    Items of `data`
    """
    data: list[DlmmPoolRow]


@dataclass(frozen=True, kw_only=True, slots=True)
class DlmmPools(Document):
    address: str
    """
    Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
    """
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    period: Literal["1h"]
    """
    Period of `stats_1h` and of the chips.
    """
    pools: list[DlmmPool]
    chips: DlmmChips


@dataclass(frozen=True, kw_only=True, slots=True)
class HolderFlowsByTier(Document):
    top20: HolderFlowsByWindow
    top50: HolderFlowsByWindow
    top100: HolderFlowsByWindow


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitOrders(Document):
    query_parameters: LimitOrdersParameters
    token: OrdersToken
    count: int
    """
    Items of `orders`
    """
    orders: list[LimitOrder]


@dataclass(frozen=True, kw_only=True, slots=True)
class MarketDepth(Document):
    query_parameters: MarketDepthParameters
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    last_refresh: int | None
    """
    Time of the snapshot, else of the token's row, Unix epoch seconds; null if it has neither.
    """
    service_score: float | None
    """
    Liquidity score of the asset, 0 to 100 with one decimal; null if not scored.
    """
    score_msg: str
    """
    How support compares with resistance, or why there is no score.
    """
    price: float | None
    """
    Price in `currency`; null if none is known.
    """
    depth_data: list[DepthLevel]
    """
    Non-empty levels in the range, by ascending price.
    """
    stale: bool | None = None
    """
    True if the newest snapshot that the score is based on is older than the server allows (`stale_after`, 1 hour unless configured), absent otherwise. The score keeps its value.
    """
    hint: str | None = None
    """
    Only if the snapshot has depth, but none on markets of the requested `exchange_type`: names the value that has it.
    """
    summary: DepthSummary | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NewHoldersByTier(Document):
    top20: NewHoldersByWindow
    top50: NewHoldersByWindow
    top100: NewHoldersByWindow


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayFacets(Document):
    """
    Mean depth of the snapshots on the page by type and by venue, within the band and before any filter. Absent with `group=all` and no filter.
    """

    frames: int
    """
    Snapshots on the page
    """
    types: list[TypeFacet]
    venues: list[VenueFacet]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayPage(Document):
    token: str
    """
    Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
    """
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    window: ReplayWindow
    next_from: int | None
    """
    `from` of the next page; null on the last page.
    """
    group: Literal["market", "venue", "type", "all"]
    filter: ReplayFilter
    markets_mode: Literal["split", "aggregate"]
    min_pct: float
    """
    Lower end of the band, percent
    """
    max_pct: float
    """
    Upper end of the band, percent
    """
    bin_ratio: float
    """
    Ratio of the prices of neighbouring bins
    """
    snapshot_count: int
    """
    Snapshots on the page
    """
    row_count: int
    """
    Cells on the page
    """
    markets: list[ReplayMarket]
    """
    Empty with `group=all`.
    """
    groups: list[ReplayGroup]
    """
    Empty unless `group` is `venue` or `type`.
    """
    snapshots: list[ReplaySnapshot]
    resolved_token: str | None = None
    """
    The mainchain mint whose data are shown for a bridged `0x` address.
    """
    facets: ReplayFacets | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayPlan(Document):
    token: str
    """
    Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
    """
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    window: ReplayPlanWindow
    group: Literal["market", "venue", "type", "all"]
    page_count: int
    """
    Items of `pages`
    """
    snapshot_count: int
    """
    Snapshots on all pages
    """
    row_count: int
    """
    Cells on all pages
    """
    pages: list[PlannedPage]
    """
    Pages with snapshots, in order.
    """
    gaps: list[HistoryGap]
    """
    Gaps that overlap the window, as in `/coverage/:address`, newest first.
    """
    next_from: int | None
    """
    `from` of the next plan; null on the last one.
    """
    resolved_token: str | None = None
    """
    The mainchain mint whose data are shown for a bridged `0x` address.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreExplanation(Document):
    formula_version: Literal["fathom.score.1"]
    """
    Name of the formula: the score is the sum of its components' points, rounded to one decimal.
    """
    support: float
    """
    S: sum of weight times support, USD
    """
    resistance: float
    """
    R: sum of weight times resistance, USD
    """
    depth: float
    """
    D: S + R, USD
    """
    components: ScoreComponents
    unrounded: float
    """
    The score before rounding
    """
    weights: list[ScoreWeight]
    """
    Every weighted bin, -28 to 22.
    """
    legs: list[ScoreLeg]
    """
    Legs whose depth was merged.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class SlippageQuote(Document):
    usd: float
    """
    Amount of the order, USD
    """
    filled: bool
    """
    Whether it is at most `fillable_usd`; otherwise prices and percents are null.
    """
    average_price_usd: float | None
    """
    USD by tokens.
    """
    end_price_usd: float | None
    """
    Price at which the order ends, USD.
    """
    slippage_pct: float | None
    """
    The average price against the price, percent: negative for a sell, positive for a buy.
    """
    best_pct: float | None
    """
    The same if each bin had its amount at its near end.
    """
    worst_pct: float | None
    """
    The same if each bin had its amount at its far end.
    """
    venues: list[SlippageVenue]
    """
    Venues of the order, largest first; if it cannot be filled, all that they have.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenPressure(Document):
    token: BoardToken
    buy_order_count: int
    """
    Active BUY orders
    """
    sell_order_count: int
    """
    Active SELL orders
    """
    total_buy_usd: float
    """
    Remaining amount of the BUY orders, USD
    """
    total_sell_usd: float
    """
    Remaining amount of the SELL orders, USD
    """
    net_usd: float
    """
    `total_buy_usd - total_sell_usd`, USD
    """
    impact: PressureFlows
    orders: list[DcaOrder]
    """
    Empty unless `include_orders=true`.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Tokens(Document):
    query_parameters: TokensParameters
    chain: Literal["mainchain", "evmchain", "all"]
    """
    Chains listed.
    """
    count: int
    """
    Items of `tokens`
    """
    next_cursor: str | None
    """
    `cursor` of the next page; null on the last one.
    """
    tokens: list[FoundToken]


@dataclass(frozen=True, kw_only=True, slots=True)
class TopScore(Document):
    address: str
    """
    Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
    """
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    symbol: str | None
    """
    Symbol; null if unknown.
    """
    service_score: float
    """
    Liquidity score of the asset, 0 to 100 with one decimal.
    """
    service_current_price: float
    """
    Current price, USD
    """
    status: Literal["available"]
    """
    Only scored tokens are listed.
    """
    name: str | None = None
    """
    Name; null if unknown.
    """
    support_usd: float | None = None
    """
    With `details=true`: weighted support, `support` of `/score?explain=true`, USD
    """
    resistance_usd: float | None = None
    """
    With `details=true`: weighted resistance, `resistance` of `/score?explain=true`, USD
    """
    depth_2pct_usd: TopScoreDepth | None = None
    score_24h_ago: float | None = None
    """
    Liquidity score of the asset, 0 to 100 with one decimal; null if not scored.
    """
    scores_24h: list[float | None] | None = None
    """
    With `details=true`: the score at each of the last 24 whole hours, oldest first; null if no score.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class TopScores(Document):
    chain: Literal["mainchain", "evmchain", "all"]
    """
    Chains listed.
    """
    count: int
    """
    Items of `tokens`
    """
    stale_count: int
    """
    Tokens left out because the newest snapshot that their score is based on is older than the server allows (`stale_after`, 1 hour unless configured)
    """
    tokens: list[TopScore]


@dataclass(frozen=True, kw_only=True, slots=True)
class Wallet(Document):
    rank: int
    """
    1 for the largest balance; ties by address
    """
    owner: str
    """
    The wallet's address
    """
    balance: float
    """
    Balance in the newest snapshot, tokens
    """
    balance_change: BalanceChanges
    activity: list[WalletDay] | None = None
    """
    With `wallet_activity=true`: one item per day, ascending, up to the day of the newest snapshot.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class DcaPressure(Document):
    query_parameters: DcaPressureParameters
    count: int
    """
    Items of `tokens`
    """
    tokens: list[TokenPressure]


@dataclass(frozen=True, kw_only=True, slots=True)
class HolderSummary(Document):
    accumulating: AccumulatingHoldersByTier
    new_wallets: NewHoldersByTier
    net_flow: HolderFlowsByTier


@dataclass(frozen=True, kw_only=True, slots=True)
class Score(Document):
    address: str
    """
    Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
    """
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    symbol: str | None
    """
    Symbol; null if unknown.
    """
    name: str | None
    """
    Name; null if unknown.
    """
    service_score: float | None
    """
    Liquidity score of the asset, 0 to 100 with one decimal; null if not scored.
    """
    score_msg: str
    """
    How support compares with resistance, or why there is no score.
    """
    service_last_run: str | None
    """
    Time of the newest snapshot that the score is based on, of any leg, UTC; null if there is no score.
    """
    data_time: int | None
    """
    Time of the token's newest snapshot, Unix epoch seconds; null without one.
    """
    service_current_price: float | None
    """
    Current price, USD; null if unknown.
    """
    status: Literal["available", "pending", "unsupported", "unscored", "price_unavailable"]
    """
    `available`: scored. `pending`: not scored yet; the score follows its data within 15 seconds. `unsupported`: on mainchain, permanently excluded; on evmchain, not indexed yet, do not poll. `unscored`: depth and price only, never scored. `price_unavailable`: supported, but without a price.
    """
    stale: bool | None = None
    """
    True if the newest snapshot that the score is based on is older than the server allows (`stale_after`, 1 hour unless configured), absent otherwise. The score keeps its value.
    """
    explain: ScoreExplanation | None = None
    """
    With `explain=true`; null if there is no score.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Slippage(Document):
    token: str
    """
    Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
    """
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    t: int | None
    """
    Time of the snapshot, Unix epoch seconds; null without one.
    """
    price_usd: float | None
    """
    Price of the snapshot; null without one.
    """
    side: Literal["sell", "buy"]
    """
    `sell` takes support, `buy` takes resistance.
    """
    fillable_usd: float | None
    """
    Depth of the chosen markets on the side that the order takes, USD; null without a snapshot.
    """
    quotes: list[SlippageQuote]
    """
    One per item of `usd`.
    """
    moves: list[SlippageMove]
    """
    One per item of `move_pct`.
    """
    resolved_token: str | None = None
    """
    The mainchain mint whose data are shown for a bridged `0x` address.
    """
    venues_not_found: list[str] | None = None
    """
    Requested venues of which the token has no market so far.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class WhaleActivity(Document):
    token_address: str
    """
    Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
    """
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    has_coverage: bool
    """
    Whether holder snapshots of the token are available.
    """
    last_snapshot_at: str | None
    """
    Time of the newest snapshot, ISO 8601 in UTC; null without coverage.
    """
    windows: list[Literal["1d", "7d", "30d"]]
    """
    The windows of `summary`.
    """
    tiers: list[Literal["top20", "top50", "top100"]]
    """
    The tiers of holders.
    """
    summary: HolderSummary | NoCoverage | None = None
    sparkline: HolderDaysByTier | NoCoverage | None = None
    wallets: list[Wallet] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchWhaleActivity(Document):
    token_address: str
    """
    Token address: a base58 mint of 32-44 characters, or `0x` and 40 hex digits.
    """
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    has_coverage: bool
    """
    Whether holder snapshots of the token are available.
    """
    last_snapshot_at: str | None
    """
    Time of the newest snapshot, ISO 8601 in UTC; null without coverage.
    """
    summary: HolderSummary | None = None
    sparkline: HolderDaysByTier | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class WhaleActivityBatch(Document):
    chain: Literal["mainchain", "evmchain"]
    """
    Chain key.
    """
    count: int
    """
    Items of `tokens`
    """
    tokens: list[BatchWhaleActivity]
