"""What selling an amount would have cost, at once and in hourly parts: back_test.py TOKEN USD"""

import sys
from math import log

import polars as pl

from fathom_client import Client, FathomError

STEP_RATIO = 1.01
TYPES = ["onchain_pool", "onchain_limit_order", "cex_spot"]


def costs(cells: pl.DataFrame, usd: float) -> pl.DataFrame:
    """What selling `usd` costs at each snapshot, in percent of its price.

    A sale takes support from the price down. A step holds its support evenly, as in
    docs/definitions.md#slippage: positions are steps from the price, and `dU` USD at position `x`
    are `dU / 1.01 ** x` tokens.
    """
    until = pl.col("support_usd").cum_sum().over("t")
    taken = pl.min_horizontal(until, usd) - pl.min_horizontal(until - pl.col("support_usd"), usd)
    near, far = ((pl.col("bin") + half).clip(upper_bound=0) for half in (0.5, -0.5))
    end = near + (far - near) * taken / pl.col("support_usd")
    tokens = taken * (STEP_RATIO**-end - STEP_RATIO**-near) / (log(STEP_RATIO) * (near - end))
    return (
        cells.filter(pl.col("support_usd") > 0)
        .sort(["t", "bin"], descending=[False, True])
        .with_columns(taken=taken, tokens=pl.when(end < near).then(tokens).otherwise(taken))
        .group_by("t", maintain_order=True)
        .agg(pl.col("taken").sum(), pl.col("tokens").sum())
        .filter(pl.col("taken") > usd - 0.01)
        .select("t", cost_pct=100 * (1 - usd / pl.col("tokens")))
    )


def in_parts(cells: pl.DataFrame, usd: float, parts: int) -> pl.Series:
    """The mean cost of `parts` equal orders, one an hour, for every hour with which they may begin."""
    hourly = costs(cells, usd / parts)
    whole = pl.col("t") - pl.col("t").shift(parts - 1) == 3600 * (parts - 1)
    mean = pl.col("cost_pct").rolling_mean(parts)
    return hourly.select(pl.when(whole).then(mean).alias("cost_pct"))["cost_pct"].drop_nulls()


def main(token: str = "WETH", amount: str = "500000") -> None:
    with Client() as fathom:  # FATHOM_URL and FATHOM_KEY
        week = fathom.replay(token, "-7d", step="1h", group="all", types=TYPES)
        cells = week.to_polars()
    # The newest snapshot of an hour stands for the end of that hour.
    cells = cells.with_columns((pl.col("t") / 3600).ceil().cast(pl.Int64) * 3600)
    print("sold         orders   mean  worst")
    for parts in (1, 4, 24):
        cost = in_parts(cells, float(amount), parts)
        name = "at once" if parts == 1 else f"in {parts} parts"
        if cost.is_empty():
            print(f"{name:12} {0:6}  the depth does not suffice")
        else:
            print(f"{name:12} {len(cost):6}  {cost.mean():.2f}%  {cost.max():.2f}%")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except FathomError as error:
        sys.exit(str(error))
