/** Sorts a table's rows. */

export interface Sortable<Row> {
  name: string;
  /** The value to sort by, nulls last; undefined if the column cannot be sorted. */
  by?: (row: Row) => number | string | null;
}

/**
 * The rows in the order of a column.
 *
 * @param sort the column: largest number or first text on top; '-' before its name reverses the order
 */
export function sortedRows<Row>(
  rows: readonly Row[],
  columns: readonly Sortable<Row>[],
  sort: string | null,
): readonly Row[] {
  const by = columns.find(({ name }) => name === sort?.replace(/^-/, ''))?.by;
  if (by === undefined) return rows;
  const sign = sort?.startsWith('-') === true ? -1 : 1;
  return rows.toSorted((one, other) => {
    const [a, b] = [by(one), by(other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    if (typeof a === 'string') return sign * a.localeCompare(String(b));
    return sign * ((b as number) - a);
  });
}

/**
 * The first click sorts, the second reverses the order, the third restores the board's own.
 *
 * @param ranking the board's own order
 */
export function nextSort(name: string, sort: string | null, ranking: string): string | null {
  const shown = sort ?? ranking;
  if (shown === name) return ranking === `-${name}` ? null : `-${name}`;
  if (shown !== `-${name}`) return name;
  return ranking === `-${name}` ? name : null;
}
