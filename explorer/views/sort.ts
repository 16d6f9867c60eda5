/** The order of a table's rows. */

export interface Sortable<Row> {
  name: string;
  /** By what it sorts; absent: not at all. Nulls come last. */
  by?: (row: Row) => number | string | null;
}

/** The rows by a column, the greatest (of texts the first) on top unless '-' stands before its name. */
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

/** One click sorts, the next turns the order round, the third gives the board's own. */
export function nextSort(name: string, sort: string | null): string | null {
  if (sort === name) return `-${name}`;
  return sort === `-${name}` ? null : name;
}
