/** Counts, by kind, what is valid in a file but rarely intended. */

const WARNING_KINDS = [
  /** A snapshot without a cell. */
  'no_cells',
  /** A snapshot with more than half of its levels outside the ladder. */
  'outside_ladder',
  /** A book whose best bid is not below its best ask. */
  'crossed_book',
  /** A book whose best ask is more than ten times its best bid. */
  'wide_spread',
  /** A book with levels on only one side. */
  'one_sided_book',
  /** A CLMM pool whose liquidity falls below 0 at a tick. */
  'negative_liquidity',
  /** A book whose middle is less than half of the snapshot's price, or more than twice. */
  'far_from_price',
  /** A token whose first price in the file is less than 1/100 of its stored price, or more than 100 times that. */
  'far_from_stored',
  /** A DCA order of which more is left than was deposited. */
  'over_deposit',
  /** A time more than an hour ahead. */
  'future_time',
  /** A level that a later row of its book, with the same side and price but another size, replaces. */
  'replaced_level',
  /** A snapshot of levels that has no price, since none of its books has both sides. */
  'no_price',
] as const;
export type WarningKind = (typeof WARNING_KINDS)[number];

/** How often a kind occurred, and where it occurred first. */
export interface Warning {
  kind: WarningKind;
  count: number;
  line: number;
  what: string;
}

export class WarningTally {
  private readonly byKind = new Map<WarningKind, Warning>();

  /** @param what is called for the first occurrence only */
  add(kind: WarningKind, line: number, what: () => string): void {
    const known = this.byKind.get(kind);
    if (known === undefined) this.byKind.set(kind, { kind, count: 1, line, what: what() });
    else known.count++;
  }

  /** Adds the counts of a tally of later rows. */
  join(warnings: readonly Warning[]): void {
    for (const warning of warnings) {
      const known = this.byKind.get(warning.kind);
      if (known === undefined) this.byKind.set(warning.kind, { ...warning });
      else known.count += warning.count;
    }
  }

  /** The kinds that occurred, in the order of WARNING_KINDS. */
  get all(): Warning[] {
    return WARNING_KINDS.flatMap((kind) => this.byKind.get(kind) ?? []);
  }
}
