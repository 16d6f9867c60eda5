"""A method per operation of the API. Written by generate.py."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from .api import (
    Coverage,
    DcaOrders,
    DcaPressure,
    DepthSeries,
    DlmmPoolBoard,
    DlmmPools,
    LimitOrders,
    LpCheatSheet,
    MarketDepth,
    ReplayPage,
    ReplayPlan,
    Score,
    ScoreBatch,
    Slippage,
    Tokens,
    TopScores,
    Usage,
    WhaleActivity,
    WhaleActivityBatch,
)

if TYPE_CHECKING:
    from ..documents import D
    from ..follow import LiveMessage, PathLike
    from ..parameters import Time
    from ..replay import AsyncReplay, Replay
ROUTES = {
    "score": ("GET", "/score/{address}"),
    "scores": ("POST", "/score"),
    "top_scores": ("GET", "/top-scores"),
    "market_depth": ("GET", "/market-depth"),
    "slippage": ("GET", "/slippage/{address}"),
    "dca_pressure": ("GET", "/dca-pressure"),
    "dca_orders": ("GET", "/dca-orders"),
    "limit_orders": ("GET", "/limit-orders"),
    "whale_activity": ("GET", "/whale-activity"),
    "whale_activities": ("POST", "/whale-activity"),
    "dlmm": ("GET", "/dlmm/{address}"),
    "dlmm_pools": ("GET", "/dlmm-pools"),
    "lp_cheat_sheet": ("GET", "/lp-cheat-sheet"),
    "replay_page": ("GET", "/replay/{address}"),
    "replay_plan": ("GET", "/replay/{address}/plan"),
    "depth_series_page": ("GET", "/depth-series/{address}"),
    "coverage": ("GET", "/coverage/{address}"),
    "tokens": ("GET", "/tokens"),
    "usage": ("GET", "/usage"),
}
"""Method and path of each operation, by the name of its method."""


class AsyncOperations(ABC):
    """One method per operation of the API, of the AsyncClient."""

    @abstractmethod
    async def _call(
        self, result: type[D], method: Literal["GET", "POST"], path: str, given: Mapping[str, Any]
    ) -> D: ...
    @abstractmethod
    def _replay(
        self, given: Mapping[str, Any], ahead: int, progress: bool | None
    ) -> AsyncReplay: ...
    @abstractmethod
    async def _series(self, given: Mapping[str, Any]) -> DepthSeries: ...
    @abstractmethod
    def _follow(
        self, given: Mapping[str, Any], cursor_file: PathLike | None, heartbeats: bool
    ) -> AsyncIterator[LiveMessage]: ...
    async def score(
        self,
        token: str,
        *,
        chain: Literal["mainchain", "evmchain", "all"] | str | None = None,
        explain: bool | None = None,
        at: Time | None = None,
    ) -> Score:
        """Score of one token.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            chain: Optional check: the address decides the chain, and a contradiction is a
                `chain_mismatch`.
            explain: Adds `explain`: everything needed to recompute the score. (default: False)
            at: Uses the newest snapshot at or before this time, within the last 365 days.
                Default: the newest. Unix epoch seconds, RFC 3339 with a zone, a date (midnight
                UTC), `now`, or a time before now in s, m, h, d or w.
        """
        return await self._call(
            Score,
            "GET",
            "/score/{address}",
            {"address": token, "chain": chain, "explain": explain, "at": at},
        )

    async def scores(
        self, tokens: Sequence[str], *, chain: Literal["mainchain", "evmchain", "all"] | None = None
    ) -> ScoreBatch:
        """Scores of up to 50 tokens.

        Args:
            tokens: addresses or symbols.
            chain: Optional check: every address has to be on this chain.
        """
        return await self._call(ScoreBatch, "POST", "/score", {"addresses": tokens, "chain": chain})

    async def top_scores(
        self,
        *,
        chain: Literal["mainchain", "evmchain", "all"] | None = None,
        details: bool | None = None,
    ) -> TopScores:
        """The 50 highest scores.

        Args:
            chain: Chains to list. (default: mainchain)
            details: Adds each token's name, its depth, and its scores of the last 24 hours.
                Such a board is at most a minute old. (default: False)
        """
        return await self._call(
            TopScores, "GET", "/top-scores", {"chain": chain, "details": details}
        )

    async def market_depth(
        self,
        token: str,
        *,
        chain: Literal["mainchain", "evmchain", "all"] | None = None,
        exchange_type: Literal["DEX", "CEX", "ALL"] | None = None,
        currency: str | None = None,
        low_pct_change: float | None = None,
        high_pct_change: float | None = None,
        delayed: bool | None = None,
        include_summary: bool | None = None,
    ) -> MarketDepth:
        """Market depth of one token.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            chain: Optional check: the address decides the chain, and a contradiction is a
                `chain_mismatch`.
            exchange_type: Markets to include; `CEX` and `ALL` include perps. (default: DEX)
            currency: `USD`, or the code of mainchain's native token (`SOL` unless configured
                otherwise): amounts and prices are divided by its current price. While it has no
                price, its code is an `invalid_parameter`. (default: USD)
            low_pct_change: Lower end of the price range, as a fraction of the price: -0.25 is
                25% below. (unit: fraction; default: -0.9)
            high_pct_change: Upper end of the price range, as a fraction of the price; not below
                `low_pct_change`. (unit: fraction; default: 10)
            delayed: Uses the newest snapshot that is at least 15 minutes old. (default: False)
            include_summary: Adds `summary`. (default: False)
        """
        return await self._call(
            MarketDepth,
            "GET",
            "/market-depth",
            {
                "token_address": token,
                "chain": chain,
                "exchange_type": exchange_type,
                "currency": currency,
                "low_pct_change": low_pct_change,
                "high_pct_change": high_pct_change,
                "delayed": delayed,
                "include_summary": include_summary,
            },
        )

    async def slippage(
        self,
        token: str,
        side: Literal["sell", "buy"],
        *,
        usd: float | Sequence[float] | None = None,
        move_pct: float | Sequence[float] | None = None,
        at: Time | None = None,
        types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        onchain: bool | None = None,
        venues: str | Sequence[str] | None = None,
        exclude_types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        exclude_venues: str | Sequence[str] | None = None,
    ) -> Slippage:
        """What an order costs.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            side: `sell` takes support, `buy` takes resistance.
            usd: Amounts of the order, USD.
            move_pct: Moves of the price, percent: down for a sell, up for a buy.
            at: Uses the newest snapshot at or before this time, within the last 365 days.
                Default: the newest. Unix epoch seconds, RFC 3339 with a zone, a date (midnight
                UTC), `now`, or a time before now in s, m, h, d or w.
            types: Market types to include.
            onchain: `true` means `types=onchain_pool,onchain_limit_order`.
            venues: Venues to include, by key or by name. Case does not matter.
            exclude_types: Market types to exclude; not together with `types`.
            exclude_venues: Venues to leave out; not together with `venues`. Case does not
                matter.
        """
        return await self._call(
            Slippage,
            "GET",
            "/slippage/{address}",
            {
                "address": token,
                "side": side,
                "usd": usd,
                "move_pct": move_pct,
                "at": at,
                "types": types,
                "onchain": onchain,
                "venues": venues,
                "exclude_types": exclude_types,
                "exclude_venues": exclude_venues,
            },
        )

    async def dca_pressure(
        self,
        *,
        chain: Literal["mainchain", "all"] | None = None,
        sort_by: Literal["usd", "impact"] | None = None,
        sort_dir: Literal["desc", "asc"] | None = None,
        sort_timeframe: Literal["5_min", "30_min", "1_hr", "6_hr", "24_hr"] | None = None,
        include_orders: bool | None = None,
        order_limit: int | None = None,
        limit: int | None = None,
        min_mcap: float | None = None,
        max_mcap: float | None = None,
        min_liquidity: float | None = None,
        max_liquidity: float | None = None,
    ) -> DcaPressure:
        """Tokens by the pressure of their DCA orders.

        Args:
            chain: Chains to list. `all` is the same as `mainchain`. (default: mainchain)
            sort_by: `usd`: by `net_usd` of the timeframe; `impact`: by its `net_pct`. (default:
                usd)
            sort_dir: `desc`: buy pressure first; `asc`: sell pressure first. (default: desc)
            sort_timeframe: Timeframe by which tokens and their nested orders are sorted.
                (default: 24_hr)
            include_orders: Adds orders to each token, by descending `usd_next` of the
                timeframe, ties by address. (default: False)
            order_limit: Maximum number of orders per token; ignored without
                `include_orders=true`. (default: 5)
            limit: Maximum number of tokens. (default: 20)
            min_mcap: Minimum market capitalisation, USD. Tokens whose figure is unknown are
                excluded.
            max_mcap: Maximum market capitalisation, USD; not below `min_mcap`. Tokens whose
                figure is unknown are excluded.
            min_liquidity: Minimum Support Liquidity, USD: DEX markets' support within 25% of
                the price in the newest snapshot, constant product included. Tokens whose figure
                is unknown are excluded.
            max_liquidity: Maximum Support Liquidity, USD; not below `min_liquidity`. Tokens
                whose figure is unknown are excluded.
        """
        return await self._call(
            DcaPressure,
            "GET",
            "/dca-pressure",
            {
                "chain": chain,
                "sort_by": sort_by,
                "sort_dir": sort_dir,
                "sort_timeframe": sort_timeframe,
                "include_orders": include_orders,
                "order_limit": order_limit,
                "limit": limit,
                "min_mcap": min_mcap,
                "max_mcap": max_mcap,
                "min_liquidity": min_liquidity,
                "max_liquidity": max_liquidity,
            },
        )

    async def dca_orders(
        self,
        token: str,
        *,
        chain: Literal["mainchain", "all"] | None = None,
        sort_by: Literal["pct_impact", "usd_flow"] | None = None,
        min_mcap: float | None = None,
        max_mcap: float | None = None,
        min_liquidity: float | None = None,
        max_liquidity: float | None = None,
        limit: int | None = None,
    ) -> DcaOrders:
        """DCA orders of one token.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            chain: Optional check: the address decides the chain, and a contradiction is a
                `chain_mismatch`. `all` is the same as `mainchain`.
            sort_by: `pct_impact`: by the size of the price move that the order's next 24 hours
                would cause on their own, as `net_pct` of `/dca-pressure` has it; orders without
                depth to trade against come last. `usd_flow`: by `usd_next_24_hr`. Largest
                first, ties by address. (default: pct_impact)
            min_mcap: Minimum market capitalisation, USD. Tokens whose figure is unknown are
                excluded.
            max_mcap: Maximum market capitalisation, USD; not below `min_mcap`. Tokens whose
                figure is unknown are excluded.
            min_liquidity: Minimum Support Liquidity, USD: DEX markets' support within 25% of
                the price in the newest snapshot, constant product included. Tokens whose figure
                is unknown are excluded.
            max_liquidity: Maximum Support Liquidity, USD; not below `min_liquidity`. Tokens
                whose figure is unknown are excluded.
            limit: Maximum number of orders. (default: 20)
        """
        return await self._call(
            DcaOrders,
            "GET",
            "/dca-orders",
            {
                "token_address": token,
                "chain": chain,
                "sort_by": sort_by,
                "min_mcap": min_mcap,
                "max_mcap": max_mcap,
                "min_liquidity": min_liquidity,
                "max_liquidity": max_liquidity,
                "limit": limit,
            },
        )

    async def limit_orders(
        self,
        token: str,
        *,
        chain: Literal["mainchain", "evmchain", "all"] | None = None,
        low_pct_change: float | None = None,
        high_pct_change: float | None = None,
        limit: int | None = None,
    ) -> LimitOrders:
        """Limit orders around the price of one token.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            chain: Legs of the asset to list. Default: the address' own chain.
            low_pct_change: Minimum `pct_away` (inclusive), as a fraction of the price: -0.25 is
                25% below. (unit: fraction; default: -0.9)
            high_pct_change: Maximum `pct_away` (inclusive); not below `low_pct_change`. (unit:
                fraction; default: 10)
            limit: Maximum number of orders. (default: 100)
        """
        return await self._call(
            LimitOrders,
            "GET",
            "/limit-orders",
            {
                "token_address": token,
                "chain": chain,
                "low_pct_change": low_pct_change,
                "high_pct_change": high_pct_change,
                "limit": limit,
            },
        )

    async def whale_activity(
        self,
        token: str,
        *,
        chain: Literal["mainchain", "all"] | None = None,
        include: Literal["summary", "sparkline", "wallets"]
        | Sequence[Literal["summary", "sparkline", "wallets"]]
        | None = None,
        wallet_limit: Literal[20, 50, 100] | None = None,
        wallet_activity: bool | None = None,
    ) -> WhaleActivity:
        """Activity of the largest holders of one token.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            chain: Optional check: the address decides the chain, and a contradiction is a
                `chain_mismatch`. `all` is the same as `mainchain`.
            include: Sections of the reply: `summary`, `sparkline`, `wallets`. Default: all
                three.
            wallet_limit: Maximum number of wallets. (default: 100)
            wallet_activity: Adds each wallet's balance on each of the last 30 days. (default:
                False)
        """
        return await self._call(
            WhaleActivity,
            "GET",
            "/whale-activity",
            {
                "token_address": token,
                "chain": chain,
                "include": include,
                "wallet_limit": wallet_limit,
                "wallet_activity": wallet_activity,
            },
        )

    async def whale_activities(
        self,
        tokens: Sequence[str],
        *,
        include: Literal["summary", "sparkline"]
        | Sequence[Literal["summary", "sparkline"]]
        | None = None,
        chain: Literal["mainchain", "all"] | None = None,
    ) -> WhaleActivityBatch:
        """Activity of the largest holders of up to 10 tokens.

        Args:
            tokens: addresses or symbols.
            include: Sections of each item. Default: both.
            chain: Optional check: every address has to be on this chain. `all` is the same as
                `mainchain`.
        """
        return await self._call(
            WhaleActivityBatch,
            "POST",
            "/whale-activity",
            {"token_addresses": tokens, "include": include, "chain": chain},
        )

    async def dlmm(
        self, token: str, *, chain: Literal["mainchain", "all"] | None = None
    ) -> DlmmPools:
        """DLMM pools of one token.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            chain: Optional check: the address decides the chain, and a contradiction is a
                `chain_mismatch`. `all` is the same as `mainchain`.
        """
        return await self._call(
            DlmmPools, "GET", "/dlmm/{address}", {"address": token, "chain": chain}
        )

    async def dlmm_pools(
        self,
        *,
        chain: Literal["mainchain", "all"] | None = None,
        period: Literal["1h", "2h", "4h", "12h", "24h"] | None = None,
        sort: Literal["rangeyield", "feespertvl", "fees", "volume", "tvl"] | None = None,
        min_tvl: float | None = None,
        mint: str | None = None,
    ) -> DlmmPoolBoard:
        """Top DLMM pools over a period.

        Args:
            chain: Chains to list. `all` is the same as `mainchain`. (default: mainchain)
            period: Period over which hours are summed. (default: 1h)
            sort: Field to sort by; `feespertvl` is `feesPerAvgTvl`, the others have the names
                of their fields. (default: rangeyield)
            min_tvl: Minimum `tvl`, USD. Default: 10000, or 0 with `mint`.
            mint: A base58 mint: lists only pools with this token on either side.
        """
        return await self._call(
            DlmmPoolBoard,
            "GET",
            "/dlmm-pools",
            {"chain": chain, "period": period, "sort": sort, "minTvl": min_tvl, "mint": mint},
        )

    async def lp_cheat_sheet(
        self,
        *,
        chain: Literal["mainchain", "all"] | None = None,
        window: Literal["1h", "6h", "24h"] | None = None,
        denominator: Literal["near", "bin10", "range"] | None = None,
        limit: int | None = None,
    ) -> LpCheatSheet:
        """Tokens by LP fee density.

        Args:
            chain: Chains to list. `all` is the same as `mainchain`. (default: mainchain)
            window: Period of the volume. (default: 1h)
            denominator: On-chain pools' liquidity in the newest snapshot: `near` in bins -25 to
                25, `bin10` in bins -10 to 10, `range` between the lowest and the highest price
                of the window, extended by half a bin at both ends. (default: near)
            limit: Maximum number of rows. (default: 25)
        """
        return await self._call(
            LpCheatSheet,
            "GET",
            "/lp-cheat-sheet",
            {"chain": chain, "window": window, "denominator": denominator, "limit": limit},
        )

    def replay(
        self,
        token: str,
        start: Time | None = None,
        end: Time | None = None,
        *,
        group: Literal["market", "venue", "type", "all"] | None = None,
        types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        onchain: bool | None = None,
        venues: str | Sequence[str] | None = None,
        exclude_types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        exclude_venues: str | Sequence[str] | None = None,
        step: Literal["1m", "5m", "15m", "1h", "4h", "1d"] | None = None,
        markets: Literal["split", "aggregate"] | None = None,
        min_pct: float | None = None,
        max_pct: float | None = None,
        ahead: int = 4,
        progress: bool | None = None,
    ) -> AsyncReplay:
        """Depth history of a window: its pages, side by side, or a table of its cells.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            start: Start of the window (inclusive). Default: 24 hours before `to`. Unix epoch
                seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before
                now in s, m, h, d or w.
            end: End of the window (exclusive). Default: now. Unix epoch seconds, RFC 3339 with
                a zone, a date (midnight UTC), `now`, or a time before now in s, m, h, d or w.
            group: How cells are grouped. Default: `market`.
            types: Market types to include.
            onchain: `true` means `types=onchain_pool,onchain_limit_order`.
            venues: Venues to include, by key or by name. Case does not matter.
            exclude_types: Market types to exclude; not together with `types`.
            exclude_venues: Venues to leave out; not together with `venues`. Case does not
                matter.
            step: Keeps only the newest snapshot of each step, an interval that ends at a
                multiple of this length (inclusive) since the Unix epoch. Default: every
                snapshot.
            markets: Use `group`: `split` is `group=market`, `aggregate` is `group=all`.
            min_pct: Lower end of the band around each snapshot's price, percent. (unit:
                percent; default: -50)
            max_pct: Upper end of the band, percent; above `min_pct`. (unit: percent; default:
                100)
            ahead: pages fetched at the same time, 1 to 16.
            progress: whether to show progress; default: in a terminal or notebook.
        """
        return self._replay(
            {
                "address": token,
                "from": start,
                "to": end,
                "group": group,
                "types": types,
                "onchain": onchain,
                "venues": venues,
                "exclude_types": exclude_types,
                "exclude_venues": exclude_venues,
                "step": step,
                "markets": markets,
                "min_pct": min_pct,
                "max_pct": max_pct,
            },
            ahead,
            progress,
        )

    def follow(
        self,
        token: str,
        start: Time | None = None,
        *,
        group: Literal["market", "venue", "type", "all"] | None = None,
        types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        onchain: bool | None = None,
        venues: str | Sequence[str] | None = None,
        exclude_types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        exclude_venues: str | Sequence[str] | None = None,
        markets: Literal["split", "aggregate"] | None = None,
        min_pct: float | None = None,
        max_pct: float | None = None,
        cursor: str | None = None,
        cursor_file: PathLike | None = None,
        heartbeats: bool = False,
    ) -> AsyncIterator[LiveMessage]:
        """Snapshots, revisions and deletions as they happen; reconnects and continues.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            start: Start of the window (inclusive). Default: 24 hours before `to`. Unix epoch
                seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before
                now in s, m, h, d or w.
            group: How cells are grouped. Default: `market`.
            types: Market types to include.
            onchain: `true` means `types=onchain_pool,onchain_limit_order`.
            venues: Venues to include, by key or by name. Case does not matter.
            exclude_types: Market types to exclude; not together with `types`.
            exclude_venues: Venues to leave out; not together with `venues`. Case does not
                matter.
            markets: Use `group`: `split` is `group=market`, `aggregate` is `group=all`.
            min_pct: Lower end of the band around each snapshot's price, percent. (unit:
                percent; default: -50)
            max_pct: Upper end of the band, percent; above `min_pct`. (unit: percent; default:
                100)
            cursor: continues after the message with this cursor; not together with start.
            cursor_file: keeps the cursor of the last message that you handled, and continues
                there; start counts only while the file does not exist.
            heartbeats: whether to yield heartbeats too.
        """
        return self._follow(
            {
                "address": token,
                "from": start,
                "group": group,
                "types": types,
                "onchain": onchain,
                "venues": venues,
                "exclude_types": exclude_types,
                "exclude_venues": exclude_venues,
                "markets": markets,
                "min_pct": min_pct,
                "max_pct": max_pct,
                "cursor": cursor,
            },
            cursor_file,
            heartbeats,
        )

    async def replay_page(
        self,
        token: str,
        start: Time | None = None,
        end: Time | None = None,
        *,
        group: Literal["market", "venue", "type", "all"] | None = None,
        types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        onchain: bool | None = None,
        venues: str | Sequence[str] | None = None,
        exclude_types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        exclude_venues: str | Sequence[str] | None = None,
        step: Literal["1m", "5m", "15m", "1h", "4h", "1d"] | None = None,
        markets: Literal["split", "aggregate"] | None = None,
        min_pct: float | None = None,
        max_pct: float | None = None,
    ) -> ReplayPage:
        """Depth history of one token.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            start: Start of the window (inclusive). Default: 24 hours before `to`. Unix epoch
                seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before
                now in s, m, h, d or w.
            end: End of the window (exclusive). Default: now. Unix epoch seconds, RFC 3339 with
                a zone, a date (midnight UTC), `now`, or a time before now in s, m, h, d or w.
            group: How cells are grouped. Default: `market`.
            types: Market types to include.
            onchain: `true` means `types=onchain_pool,onchain_limit_order`.
            venues: Venues to include, by key or by name. Case does not matter.
            exclude_types: Market types to exclude; not together with `types`.
            exclude_venues: Venues to leave out; not together with `venues`. Case does not
                matter.
            step: Keeps only the newest snapshot of each step, an interval that ends at a
                multiple of this length (inclusive) since the Unix epoch. Default: every
                snapshot.
            markets: Use `group`: `split` is `group=market`, `aggregate` is `group=all`.
            min_pct: Lower end of the band around each snapshot's price, percent. (unit:
                percent; default: -50)
            max_pct: Upper end of the band, percent; above `min_pct`. (unit: percent; default:
                100)
        """
        return await self._call(
            ReplayPage,
            "GET",
            "/replay/{address}",
            {
                "address": token,
                "from": start,
                "to": end,
                "group": group,
                "types": types,
                "onchain": onchain,
                "venues": venues,
                "exclude_types": exclude_types,
                "exclude_venues": exclude_venues,
                "step": step,
                "markets": markets,
                "min_pct": min_pct,
                "max_pct": max_pct,
            },
        )

    async def replay_plan(
        self,
        token: str,
        start: Time | None = None,
        end: Time | None = None,
        *,
        group: Literal["market", "venue", "type", "all"] | None = None,
        types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        onchain: bool | None = None,
        venues: str | Sequence[str] | None = None,
        exclude_types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        exclude_venues: str | Sequence[str] | None = None,
        step: Literal["1m", "5m", "15m", "1h", "4h", "1d"] | None = None,
        markets: Literal["split", "aggregate"] | None = None,
        min_pct: float | None = None,
        max_pct: float | None = None,
    ) -> ReplayPlan:
        """Pages of a window of depth history.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            start: Start of the window (inclusive). Default: 24 hours before `to`. Unix epoch
                seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before
                now in s, m, h, d or w.
            end: End of the window (exclusive). Default: now. Unix epoch seconds, RFC 3339 with
                a zone, a date (midnight UTC), `now`, or a time before now in s, m, h, d or w.
            group: How cells are grouped. Default: `market`.
            types: Market types to include.
            onchain: `true` means `types=onchain_pool,onchain_limit_order`.
            venues: Venues to include, by key or by name. Case does not matter.
            exclude_types: Market types to exclude; not together with `types`.
            exclude_venues: Venues to leave out; not together with `venues`. Case does not
                matter.
            step: Keeps only the newest snapshot of each step, an interval that ends at a
                multiple of this length (inclusive) since the Unix epoch. Default: every
                snapshot.
            markets: Use `group`: `split` is `group=market`, `aggregate` is `group=all`.
            min_pct: Lower end of the band around each snapshot's price, percent. (unit:
                percent; default: -50)
            max_pct: Upper end of the band, percent; above `min_pct`. (unit: percent; default:
                100)
        """
        return await self._call(
            ReplayPlan,
            "GET",
            "/replay/{address}/plan",
            {
                "address": token,
                "from": start,
                "to": end,
                "group": group,
                "types": types,
                "onchain": onchain,
                "venues": venues,
                "exclude_types": exclude_types,
                "exclude_venues": exclude_venues,
                "step": step,
                "markets": markets,
                "min_pct": min_pct,
                "max_pct": max_pct,
            },
        )

    async def depth_series(
        self,
        token: str,
        start: Time | None = None,
        end: Time | None = None,
        *,
        step: Literal["1m", "5m", "15m", "1h", "4h", "1d"] | None = None,
        pct: float | Sequence[float] | None = None,
        group: Literal["venue", "type"] | None = None,
        score: bool | None = None,
        types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        onchain: bool | None = None,
        venues: str | Sequence[str] | None = None,
        exclude_types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        exclude_venues: str | Sequence[str] | None = None,
    ) -> DepthSeries:
        """Depth near the price over time: the whole window, from as many replies as it takes.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            start: Start of the window (inclusive). Default: 24 hours before `to`. Unix epoch
                seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before
                now in s, m, h, d or w.
            end: End of the window (exclusive). Default: now. Unix epoch seconds, RFC 3339 with
                a zone, a date (midnight UTC), `now`, or a time before now in s, m, h, d or w.
            step: Time between points. Default: the smallest that gives at most 500 points.
            pct: Percents of the price. Default: 1,2,5,10.
            group: How to group the markets. Default: all in one.
            score: Adds `score`: the token's score at the time of each point. (default: False)
            types: Market types to include.
            onchain: `true` means `types=onchain_pool,onchain_limit_order`.
            venues: Venues to include, by key or by name. Case does not matter.
            exclude_types: Market types to exclude; not together with `types`.
            exclude_venues: Venues to leave out; not together with `venues`. Case does not
                matter.
        """
        return await self._series(
            {
                "address": token,
                "from": start,
                "to": end,
                "step": step,
                "pct": pct,
                "group": group,
                "score": score,
                "types": types,
                "onchain": onchain,
                "venues": venues,
                "exclude_types": exclude_types,
                "exclude_venues": exclude_venues,
            }
        )

    async def depth_series_page(
        self,
        token: str,
        start: Time | None = None,
        end: Time | None = None,
        *,
        step: Literal["1m", "5m", "15m", "1h", "4h", "1d"] | None = None,
        pct: float | Sequence[float] | None = None,
        group: Literal["venue", "type"] | None = None,
        score: bool | None = None,
        types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        onchain: bool | None = None,
        venues: str | Sequence[str] | None = None,
        exclude_types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        exclude_venues: str | Sequence[str] | None = None,
    ) -> DepthSeries:
        """Depth near the price over time.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            start: Start of the window (inclusive). Default: 24 hours before `to`. Unix epoch
                seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before
                now in s, m, h, d or w.
            end: End of the window (exclusive). Default: now. Unix epoch seconds, RFC 3339 with
                a zone, a date (midnight UTC), `now`, or a time before now in s, m, h, d or w.
            step: Time between points. Default: the smallest that gives at most 500 points.
            pct: Percents of the price. Default: 1,2,5,10.
            group: How to group the markets. Default: all in one.
            score: Adds `score`: the token's score at the time of each point. (default: False)
            types: Market types to include.
            onchain: `true` means `types=onchain_pool,onchain_limit_order`.
            venues: Venues to include, by key or by name. Case does not matter.
            exclude_types: Market types to exclude; not together with `types`.
            exclude_venues: Venues to leave out; not together with `venues`. Case does not
                matter.
        """
        return await self._call(
            DepthSeries,
            "GET",
            "/depth-series/{address}",
            {
                "address": token,
                "from": start,
                "to": end,
                "step": step,
                "pct": pct,
                "group": group,
                "score": score,
                "types": types,
                "onchain": onchain,
                "venues": venues,
                "exclude_types": exclude_types,
                "exclude_venues": exclude_venues,
            },
        )

    async def coverage(self, token: str) -> Coverage:
        """Stored history of one token.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
        """
        return await self._call(Coverage, "GET", "/coverage/{address}", {"address": token})

    async def tokens(
        self,
        query: str | None = None,
        *,
        chain: Literal["mainchain", "evmchain", "all"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Tokens:
        """Tokens by symbol, name or address.

        Args:
            chain: Chains to list. (default: mainchain)
            query: Beginning of a symbol, name or address.
            limit: Maximum number of tokens. (default: 20)
            cursor: `next_cursor` of the page before.
        """
        return await self._call(
            Tokens,
            "GET",
            "/tokens",
            {"chain": chain, "query": query, "limit": limit, "cursor": cursor},
        )

    async def usage(self) -> Usage:
        """The calling key's usage."""
        return await self._call(Usage, "GET", "/usage", {})


class Operations(ABC):
    """One method per operation of the API, of the Client."""

    @abstractmethod
    def _call(
        self, result: type[D], method: Literal["GET", "POST"], path: str, given: Mapping[str, Any]
    ) -> D: ...
    @abstractmethod
    def _replay(self, given: Mapping[str, Any], ahead: int, progress: bool | None) -> Replay: ...
    @abstractmethod
    def _series(self, given: Mapping[str, Any]) -> DepthSeries: ...
    @abstractmethod
    def _follow(
        self, given: Mapping[str, Any], cursor_file: PathLike | None, heartbeats: bool
    ) -> Iterator[LiveMessage]: ...
    def score(
        self,
        token: str,
        *,
        chain: Literal["mainchain", "evmchain", "all"] | str | None = None,
        explain: bool | None = None,
        at: Time | None = None,
    ) -> Score:
        """Score of one token.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            chain: Optional check: the address decides the chain, and a contradiction is a
                `chain_mismatch`.
            explain: Adds `explain`: everything needed to recompute the score. (default: False)
            at: Uses the newest snapshot at or before this time, within the last 365 days.
                Default: the newest. Unix epoch seconds, RFC 3339 with a zone, a date (midnight
                UTC), `now`, or a time before now in s, m, h, d or w.
        """
        return self._call(
            Score,
            "GET",
            "/score/{address}",
            {"address": token, "chain": chain, "explain": explain, "at": at},
        )

    def scores(
        self, tokens: Sequence[str], *, chain: Literal["mainchain", "evmchain", "all"] | None = None
    ) -> ScoreBatch:
        """Scores of up to 50 tokens.

        Args:
            tokens: addresses or symbols.
            chain: Optional check: every address has to be on this chain.
        """
        return self._call(ScoreBatch, "POST", "/score", {"addresses": tokens, "chain": chain})

    def top_scores(
        self,
        *,
        chain: Literal["mainchain", "evmchain", "all"] | None = None,
        details: bool | None = None,
    ) -> TopScores:
        """The 50 highest scores.

        Args:
            chain: Chains to list. (default: mainchain)
            details: Adds each token's name, its depth, and its scores of the last 24 hours.
                Such a board is at most a minute old. (default: False)
        """
        return self._call(TopScores, "GET", "/top-scores", {"chain": chain, "details": details})

    def market_depth(
        self,
        token: str,
        *,
        chain: Literal["mainchain", "evmchain", "all"] | None = None,
        exchange_type: Literal["DEX", "CEX", "ALL"] | None = None,
        currency: str | None = None,
        low_pct_change: float | None = None,
        high_pct_change: float | None = None,
        delayed: bool | None = None,
        include_summary: bool | None = None,
    ) -> MarketDepth:
        """Market depth of one token.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            chain: Optional check: the address decides the chain, and a contradiction is a
                `chain_mismatch`.
            exchange_type: Markets to include; `CEX` and `ALL` include perps. (default: DEX)
            currency: `USD`, or the code of mainchain's native token (`SOL` unless configured
                otherwise): amounts and prices are divided by its current price. While it has no
                price, its code is an `invalid_parameter`. (default: USD)
            low_pct_change: Lower end of the price range, as a fraction of the price: -0.25 is
                25% below. (unit: fraction; default: -0.9)
            high_pct_change: Upper end of the price range, as a fraction of the price; not below
                `low_pct_change`. (unit: fraction; default: 10)
            delayed: Uses the newest snapshot that is at least 15 minutes old. (default: False)
            include_summary: Adds `summary`. (default: False)
        """
        return self._call(
            MarketDepth,
            "GET",
            "/market-depth",
            {
                "token_address": token,
                "chain": chain,
                "exchange_type": exchange_type,
                "currency": currency,
                "low_pct_change": low_pct_change,
                "high_pct_change": high_pct_change,
                "delayed": delayed,
                "include_summary": include_summary,
            },
        )

    def slippage(
        self,
        token: str,
        side: Literal["sell", "buy"],
        *,
        usd: float | Sequence[float] | None = None,
        move_pct: float | Sequence[float] | None = None,
        at: Time | None = None,
        types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        onchain: bool | None = None,
        venues: str | Sequence[str] | None = None,
        exclude_types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        exclude_venues: str | Sequence[str] | None = None,
    ) -> Slippage:
        """What an order costs.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            side: `sell` takes support, `buy` takes resistance.
            usd: Amounts of the order, USD.
            move_pct: Moves of the price, percent: down for a sell, up for a buy.
            at: Uses the newest snapshot at or before this time, within the last 365 days.
                Default: the newest. Unix epoch seconds, RFC 3339 with a zone, a date (midnight
                UTC), `now`, or a time before now in s, m, h, d or w.
            types: Market types to include.
            onchain: `true` means `types=onchain_pool,onchain_limit_order`.
            venues: Venues to include, by key or by name. Case does not matter.
            exclude_types: Market types to exclude; not together with `types`.
            exclude_venues: Venues to leave out; not together with `venues`. Case does not
                matter.
        """
        return self._call(
            Slippage,
            "GET",
            "/slippage/{address}",
            {
                "address": token,
                "side": side,
                "usd": usd,
                "move_pct": move_pct,
                "at": at,
                "types": types,
                "onchain": onchain,
                "venues": venues,
                "exclude_types": exclude_types,
                "exclude_venues": exclude_venues,
            },
        )

    def dca_pressure(
        self,
        *,
        chain: Literal["mainchain", "all"] | None = None,
        sort_by: Literal["usd", "impact"] | None = None,
        sort_dir: Literal["desc", "asc"] | None = None,
        sort_timeframe: Literal["5_min", "30_min", "1_hr", "6_hr", "24_hr"] | None = None,
        include_orders: bool | None = None,
        order_limit: int | None = None,
        limit: int | None = None,
        min_mcap: float | None = None,
        max_mcap: float | None = None,
        min_liquidity: float | None = None,
        max_liquidity: float | None = None,
    ) -> DcaPressure:
        """Tokens by the pressure of their DCA orders.

        Args:
            chain: Chains to list. `all` is the same as `mainchain`. (default: mainchain)
            sort_by: `usd`: by `net_usd` of the timeframe; `impact`: by its `net_pct`. (default:
                usd)
            sort_dir: `desc`: buy pressure first; `asc`: sell pressure first. (default: desc)
            sort_timeframe: Timeframe by which tokens and their nested orders are sorted.
                (default: 24_hr)
            include_orders: Adds orders to each token, by descending `usd_next` of the
                timeframe, ties by address. (default: False)
            order_limit: Maximum number of orders per token; ignored without
                `include_orders=true`. (default: 5)
            limit: Maximum number of tokens. (default: 20)
            min_mcap: Minimum market capitalisation, USD. Tokens whose figure is unknown are
                excluded.
            max_mcap: Maximum market capitalisation, USD; not below `min_mcap`. Tokens whose
                figure is unknown are excluded.
            min_liquidity: Minimum Support Liquidity, USD: DEX markets' support within 25% of
                the price in the newest snapshot, constant product included. Tokens whose figure
                is unknown are excluded.
            max_liquidity: Maximum Support Liquidity, USD; not below `min_liquidity`. Tokens
                whose figure is unknown are excluded.
        """
        return self._call(
            DcaPressure,
            "GET",
            "/dca-pressure",
            {
                "chain": chain,
                "sort_by": sort_by,
                "sort_dir": sort_dir,
                "sort_timeframe": sort_timeframe,
                "include_orders": include_orders,
                "order_limit": order_limit,
                "limit": limit,
                "min_mcap": min_mcap,
                "max_mcap": max_mcap,
                "min_liquidity": min_liquidity,
                "max_liquidity": max_liquidity,
            },
        )

    def dca_orders(
        self,
        token: str,
        *,
        chain: Literal["mainchain", "all"] | None = None,
        sort_by: Literal["pct_impact", "usd_flow"] | None = None,
        min_mcap: float | None = None,
        max_mcap: float | None = None,
        min_liquidity: float | None = None,
        max_liquidity: float | None = None,
        limit: int | None = None,
    ) -> DcaOrders:
        """DCA orders of one token.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            chain: Optional check: the address decides the chain, and a contradiction is a
                `chain_mismatch`. `all` is the same as `mainchain`.
            sort_by: `pct_impact`: by the size of the price move that the order's next 24 hours
                would cause on their own, as `net_pct` of `/dca-pressure` has it; orders without
                depth to trade against come last. `usd_flow`: by `usd_next_24_hr`. Largest
                first, ties by address. (default: pct_impact)
            min_mcap: Minimum market capitalisation, USD. Tokens whose figure is unknown are
                excluded.
            max_mcap: Maximum market capitalisation, USD; not below `min_mcap`. Tokens whose
                figure is unknown are excluded.
            min_liquidity: Minimum Support Liquidity, USD: DEX markets' support within 25% of
                the price in the newest snapshot, constant product included. Tokens whose figure
                is unknown are excluded.
            max_liquidity: Maximum Support Liquidity, USD; not below `min_liquidity`. Tokens
                whose figure is unknown are excluded.
            limit: Maximum number of orders. (default: 20)
        """
        return self._call(
            DcaOrders,
            "GET",
            "/dca-orders",
            {
                "token_address": token,
                "chain": chain,
                "sort_by": sort_by,
                "min_mcap": min_mcap,
                "max_mcap": max_mcap,
                "min_liquidity": min_liquidity,
                "max_liquidity": max_liquidity,
                "limit": limit,
            },
        )

    def limit_orders(
        self,
        token: str,
        *,
        chain: Literal["mainchain", "evmchain", "all"] | None = None,
        low_pct_change: float | None = None,
        high_pct_change: float | None = None,
        limit: int | None = None,
    ) -> LimitOrders:
        """Limit orders around the price of one token.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            chain: Legs of the asset to list. Default: the address' own chain.
            low_pct_change: Minimum `pct_away` (inclusive), as a fraction of the price: -0.25 is
                25% below. (unit: fraction; default: -0.9)
            high_pct_change: Maximum `pct_away` (inclusive); not below `low_pct_change`. (unit:
                fraction; default: 10)
            limit: Maximum number of orders. (default: 100)
        """
        return self._call(
            LimitOrders,
            "GET",
            "/limit-orders",
            {
                "token_address": token,
                "chain": chain,
                "low_pct_change": low_pct_change,
                "high_pct_change": high_pct_change,
                "limit": limit,
            },
        )

    def whale_activity(
        self,
        token: str,
        *,
        chain: Literal["mainchain", "all"] | None = None,
        include: Literal["summary", "sparkline", "wallets"]
        | Sequence[Literal["summary", "sparkline", "wallets"]]
        | None = None,
        wallet_limit: Literal[20, 50, 100] | None = None,
        wallet_activity: bool | None = None,
    ) -> WhaleActivity:
        """Activity of the largest holders of one token.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            chain: Optional check: the address decides the chain, and a contradiction is a
                `chain_mismatch`. `all` is the same as `mainchain`.
            include: Sections of the reply: `summary`, `sparkline`, `wallets`. Default: all
                three.
            wallet_limit: Maximum number of wallets. (default: 100)
            wallet_activity: Adds each wallet's balance on each of the last 30 days. (default:
                False)
        """
        return self._call(
            WhaleActivity,
            "GET",
            "/whale-activity",
            {
                "token_address": token,
                "chain": chain,
                "include": include,
                "wallet_limit": wallet_limit,
                "wallet_activity": wallet_activity,
            },
        )

    def whale_activities(
        self,
        tokens: Sequence[str],
        *,
        include: Literal["summary", "sparkline"]
        | Sequence[Literal["summary", "sparkline"]]
        | None = None,
        chain: Literal["mainchain", "all"] | None = None,
    ) -> WhaleActivityBatch:
        """Activity of the largest holders of up to 10 tokens.

        Args:
            tokens: addresses or symbols.
            include: Sections of each item. Default: both.
            chain: Optional check: every address has to be on this chain. `all` is the same as
                `mainchain`.
        """
        return self._call(
            WhaleActivityBatch,
            "POST",
            "/whale-activity",
            {"token_addresses": tokens, "include": include, "chain": chain},
        )

    def dlmm(self, token: str, *, chain: Literal["mainchain", "all"] | None = None) -> DlmmPools:
        """DLMM pools of one token.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            chain: Optional check: the address decides the chain, and a contradiction is a
                `chain_mismatch`. `all` is the same as `mainchain`.
        """
        return self._call(DlmmPools, "GET", "/dlmm/{address}", {"address": token, "chain": chain})

    def dlmm_pools(
        self,
        *,
        chain: Literal["mainchain", "all"] | None = None,
        period: Literal["1h", "2h", "4h", "12h", "24h"] | None = None,
        sort: Literal["rangeyield", "feespertvl", "fees", "volume", "tvl"] | None = None,
        min_tvl: float | None = None,
        mint: str | None = None,
    ) -> DlmmPoolBoard:
        """Top DLMM pools over a period.

        Args:
            chain: Chains to list. `all` is the same as `mainchain`. (default: mainchain)
            period: Period over which hours are summed. (default: 1h)
            sort: Field to sort by; `feespertvl` is `feesPerAvgTvl`, the others have the names
                of their fields. (default: rangeyield)
            min_tvl: Minimum `tvl`, USD. Default: 10000, or 0 with `mint`.
            mint: A base58 mint: lists only pools with this token on either side.
        """
        return self._call(
            DlmmPoolBoard,
            "GET",
            "/dlmm-pools",
            {"chain": chain, "period": period, "sort": sort, "minTvl": min_tvl, "mint": mint},
        )

    def lp_cheat_sheet(
        self,
        *,
        chain: Literal["mainchain", "all"] | None = None,
        window: Literal["1h", "6h", "24h"] | None = None,
        denominator: Literal["near", "bin10", "range"] | None = None,
        limit: int | None = None,
    ) -> LpCheatSheet:
        """Tokens by LP fee density.

        Args:
            chain: Chains to list. `all` is the same as `mainchain`. (default: mainchain)
            window: Period of the volume. (default: 1h)
            denominator: On-chain pools' liquidity in the newest snapshot: `near` in bins -25 to
                25, `bin10` in bins -10 to 10, `range` between the lowest and the highest price
                of the window, extended by half a bin at both ends. (default: near)
            limit: Maximum number of rows. (default: 25)
        """
        return self._call(
            LpCheatSheet,
            "GET",
            "/lp-cheat-sheet",
            {"chain": chain, "window": window, "denominator": denominator, "limit": limit},
        )

    def replay(
        self,
        token: str,
        start: Time | None = None,
        end: Time | None = None,
        *,
        group: Literal["market", "venue", "type", "all"] | None = None,
        types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        onchain: bool | None = None,
        venues: str | Sequence[str] | None = None,
        exclude_types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        exclude_venues: str | Sequence[str] | None = None,
        step: Literal["1m", "5m", "15m", "1h", "4h", "1d"] | None = None,
        markets: Literal["split", "aggregate"] | None = None,
        min_pct: float | None = None,
        max_pct: float | None = None,
        ahead: int = 4,
        progress: bool | None = None,
    ) -> Replay:
        """Depth history of a window: its pages, side by side, or a table of its cells.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            start: Start of the window (inclusive). Default: 24 hours before `to`. Unix epoch
                seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before
                now in s, m, h, d or w.
            end: End of the window (exclusive). Default: now. Unix epoch seconds, RFC 3339 with
                a zone, a date (midnight UTC), `now`, or a time before now in s, m, h, d or w.
            group: How cells are grouped. Default: `market`.
            types: Market types to include.
            onchain: `true` means `types=onchain_pool,onchain_limit_order`.
            venues: Venues to include, by key or by name. Case does not matter.
            exclude_types: Market types to exclude; not together with `types`.
            exclude_venues: Venues to leave out; not together with `venues`. Case does not
                matter.
            step: Keeps only the newest snapshot of each step, an interval that ends at a
                multiple of this length (inclusive) since the Unix epoch. Default: every
                snapshot.
            markets: Use `group`: `split` is `group=market`, `aggregate` is `group=all`.
            min_pct: Lower end of the band around each snapshot's price, percent. (unit:
                percent; default: -50)
            max_pct: Upper end of the band, percent; above `min_pct`. (unit: percent; default:
                100)
            ahead: pages fetched at the same time, 1 to 16.
            progress: whether to show progress; default: in a terminal or notebook.
        """
        return self._replay(
            {
                "address": token,
                "from": start,
                "to": end,
                "group": group,
                "types": types,
                "onchain": onchain,
                "venues": venues,
                "exclude_types": exclude_types,
                "exclude_venues": exclude_venues,
                "step": step,
                "markets": markets,
                "min_pct": min_pct,
                "max_pct": max_pct,
            },
            ahead,
            progress,
        )

    def follow(
        self,
        token: str,
        start: Time | None = None,
        *,
        group: Literal["market", "venue", "type", "all"] | None = None,
        types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        onchain: bool | None = None,
        venues: str | Sequence[str] | None = None,
        exclude_types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        exclude_venues: str | Sequence[str] | None = None,
        markets: Literal["split", "aggregate"] | None = None,
        min_pct: float | None = None,
        max_pct: float | None = None,
        cursor: str | None = None,
        cursor_file: PathLike | None = None,
        heartbeats: bool = False,
    ) -> Iterator[LiveMessage]:
        """Snapshots, revisions and deletions as they happen; reconnects and continues.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            start: Start of the window (inclusive). Default: 24 hours before `to`. Unix epoch
                seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before
                now in s, m, h, d or w.
            group: How cells are grouped. Default: `market`.
            types: Market types to include.
            onchain: `true` means `types=onchain_pool,onchain_limit_order`.
            venues: Venues to include, by key or by name. Case does not matter.
            exclude_types: Market types to exclude; not together with `types`.
            exclude_venues: Venues to leave out; not together with `venues`. Case does not
                matter.
            markets: Use `group`: `split` is `group=market`, `aggregate` is `group=all`.
            min_pct: Lower end of the band around each snapshot's price, percent. (unit:
                percent; default: -50)
            max_pct: Upper end of the band, percent; above `min_pct`. (unit: percent; default:
                100)
            cursor: continues after the message with this cursor; not together with start.
            cursor_file: keeps the cursor of the last message that you handled, and continues
                there; start counts only while the file does not exist.
            heartbeats: whether to yield heartbeats too.
        """
        return self._follow(
            {
                "address": token,
                "from": start,
                "group": group,
                "types": types,
                "onchain": onchain,
                "venues": venues,
                "exclude_types": exclude_types,
                "exclude_venues": exclude_venues,
                "markets": markets,
                "min_pct": min_pct,
                "max_pct": max_pct,
                "cursor": cursor,
            },
            cursor_file,
            heartbeats,
        )

    def replay_page(
        self,
        token: str,
        start: Time | None = None,
        end: Time | None = None,
        *,
        group: Literal["market", "venue", "type", "all"] | None = None,
        types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        onchain: bool | None = None,
        venues: str | Sequence[str] | None = None,
        exclude_types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        exclude_venues: str | Sequence[str] | None = None,
        step: Literal["1m", "5m", "15m", "1h", "4h", "1d"] | None = None,
        markets: Literal["split", "aggregate"] | None = None,
        min_pct: float | None = None,
        max_pct: float | None = None,
    ) -> ReplayPage:
        """Depth history of one token.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            start: Start of the window (inclusive). Default: 24 hours before `to`. Unix epoch
                seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before
                now in s, m, h, d or w.
            end: End of the window (exclusive). Default: now. Unix epoch seconds, RFC 3339 with
                a zone, a date (midnight UTC), `now`, or a time before now in s, m, h, d or w.
            group: How cells are grouped. Default: `market`.
            types: Market types to include.
            onchain: `true` means `types=onchain_pool,onchain_limit_order`.
            venues: Venues to include, by key or by name. Case does not matter.
            exclude_types: Market types to exclude; not together with `types`.
            exclude_venues: Venues to leave out; not together with `venues`. Case does not
                matter.
            step: Keeps only the newest snapshot of each step, an interval that ends at a
                multiple of this length (inclusive) since the Unix epoch. Default: every
                snapshot.
            markets: Use `group`: `split` is `group=market`, `aggregate` is `group=all`.
            min_pct: Lower end of the band around each snapshot's price, percent. (unit:
                percent; default: -50)
            max_pct: Upper end of the band, percent; above `min_pct`. (unit: percent; default:
                100)
        """
        return self._call(
            ReplayPage,
            "GET",
            "/replay/{address}",
            {
                "address": token,
                "from": start,
                "to": end,
                "group": group,
                "types": types,
                "onchain": onchain,
                "venues": venues,
                "exclude_types": exclude_types,
                "exclude_venues": exclude_venues,
                "step": step,
                "markets": markets,
                "min_pct": min_pct,
                "max_pct": max_pct,
            },
        )

    def replay_plan(
        self,
        token: str,
        start: Time | None = None,
        end: Time | None = None,
        *,
        group: Literal["market", "venue", "type", "all"] | None = None,
        types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        onchain: bool | None = None,
        venues: str | Sequence[str] | None = None,
        exclude_types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        exclude_venues: str | Sequence[str] | None = None,
        step: Literal["1m", "5m", "15m", "1h", "4h", "1d"] | None = None,
        markets: Literal["split", "aggregate"] | None = None,
        min_pct: float | None = None,
        max_pct: float | None = None,
    ) -> ReplayPlan:
        """Pages of a window of depth history.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            start: Start of the window (inclusive). Default: 24 hours before `to`. Unix epoch
                seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before
                now in s, m, h, d or w.
            end: End of the window (exclusive). Default: now. Unix epoch seconds, RFC 3339 with
                a zone, a date (midnight UTC), `now`, or a time before now in s, m, h, d or w.
            group: How cells are grouped. Default: `market`.
            types: Market types to include.
            onchain: `true` means `types=onchain_pool,onchain_limit_order`.
            venues: Venues to include, by key or by name. Case does not matter.
            exclude_types: Market types to exclude; not together with `types`.
            exclude_venues: Venues to leave out; not together with `venues`. Case does not
                matter.
            step: Keeps only the newest snapshot of each step, an interval that ends at a
                multiple of this length (inclusive) since the Unix epoch. Default: every
                snapshot.
            markets: Use `group`: `split` is `group=market`, `aggregate` is `group=all`.
            min_pct: Lower end of the band around each snapshot's price, percent. (unit:
                percent; default: -50)
            max_pct: Upper end of the band, percent; above `min_pct`. (unit: percent; default:
                100)
        """
        return self._call(
            ReplayPlan,
            "GET",
            "/replay/{address}/plan",
            {
                "address": token,
                "from": start,
                "to": end,
                "group": group,
                "types": types,
                "onchain": onchain,
                "venues": venues,
                "exclude_types": exclude_types,
                "exclude_venues": exclude_venues,
                "step": step,
                "markets": markets,
                "min_pct": min_pct,
                "max_pct": max_pct,
            },
        )

    def depth_series(
        self,
        token: str,
        start: Time | None = None,
        end: Time | None = None,
        *,
        step: Literal["1m", "5m", "15m", "1h", "4h", "1d"] | None = None,
        pct: float | Sequence[float] | None = None,
        group: Literal["venue", "type"] | None = None,
        score: bool | None = None,
        types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        onchain: bool | None = None,
        venues: str | Sequence[str] | None = None,
        exclude_types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        exclude_venues: str | Sequence[str] | None = None,
    ) -> DepthSeries:
        """Depth near the price over time: the whole window, from as many replies as it takes.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            start: Start of the window (inclusive). Default: 24 hours before `to`. Unix epoch
                seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before
                now in s, m, h, d or w.
            end: End of the window (exclusive). Default: now. Unix epoch seconds, RFC 3339 with
                a zone, a date (midnight UTC), `now`, or a time before now in s, m, h, d or w.
            step: Time between points. Default: the smallest that gives at most 500 points.
            pct: Percents of the price. Default: 1,2,5,10.
            group: How to group the markets. Default: all in one.
            score: Adds `score`: the token's score at the time of each point. (default: False)
            types: Market types to include.
            onchain: `true` means `types=onchain_pool,onchain_limit_order`.
            venues: Venues to include, by key or by name. Case does not matter.
            exclude_types: Market types to exclude; not together with `types`.
            exclude_venues: Venues to leave out; not together with `venues`. Case does not
                matter.
        """
        return self._series(
            {
                "address": token,
                "from": start,
                "to": end,
                "step": step,
                "pct": pct,
                "group": group,
                "score": score,
                "types": types,
                "onchain": onchain,
                "venues": venues,
                "exclude_types": exclude_types,
                "exclude_venues": exclude_venues,
            }
        )

    def depth_series_page(
        self,
        token: str,
        start: Time | None = None,
        end: Time | None = None,
        *,
        step: Literal["1m", "5m", "15m", "1h", "4h", "1d"] | None = None,
        pct: float | Sequence[float] | None = None,
        group: Literal["venue", "type"] | None = None,
        score: bool | None = None,
        types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        onchain: bool | None = None,
        venues: str | Sequence[str] | None = None,
        exclude_types: Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]
        | Sequence[Literal["onchain_pool", "onchain_limit_order", "cex_spot", "cex_perp"]]
        | None = None,
        exclude_venues: str | Sequence[str] | None = None,
    ) -> DepthSeries:
        """Depth near the price over time.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
            start: Start of the window (inclusive). Default: 24 hours before `to`. Unix epoch
                seconds, RFC 3339 with a zone, a date (midnight UTC), `now`, or a time before
                now in s, m, h, d or w.
            end: End of the window (exclusive). Default: now. Unix epoch seconds, RFC 3339 with
                a zone, a date (midnight UTC), `now`, or a time before now in s, m, h, d or w.
            step: Time between points. Default: the smallest that gives at most 500 points.
            pct: Percents of the price. Default: 1,2,5,10.
            group: How to group the markets. Default: all in one.
            score: Adds `score`: the token's score at the time of each point. (default: False)
            types: Market types to include.
            onchain: `true` means `types=onchain_pool,onchain_limit_order`.
            venues: Venues to include, by key or by name. Case does not matter.
            exclude_types: Market types to exclude; not together with `types`.
            exclude_venues: Venues to leave out; not together with `venues`. Case does not
                matter.
        """
        return self._call(
            DepthSeries,
            "GET",
            "/depth-series/{address}",
            {
                "address": token,
                "from": start,
                "to": end,
                "step": step,
                "pct": pct,
                "group": group,
                "score": score,
                "types": types,
                "onchain": onchain,
                "venues": venues,
                "exclude_types": exclude_types,
                "exclude_venues": exclude_venues,
            },
        )

    def coverage(self, token: str) -> Coverage:
        """Stored history of one token.

        Args:
            token: address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL.
        """
        return self._call(Coverage, "GET", "/coverage/{address}", {"address": token})

    def tokens(
        self,
        query: str | None = None,
        *,
        chain: Literal["mainchain", "evmchain", "all"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Tokens:
        """Tokens by symbol, name or address.

        Args:
            chain: Chains to list. (default: mainchain)
            query: Beginning of a symbol, name or address.
            limit: Maximum number of tokens. (default: 20)
            cursor: `next_cursor` of the page before.
        """
        return self._call(
            Tokens,
            "GET",
            "/tokens",
            {"chain": chain, "query": query, "limit": limit, "cursor": cursor},
        )

    def usage(self) -> Usage:
        """The calling key's usage."""
        return self._call(Usage, "GET", "/usage", {})
