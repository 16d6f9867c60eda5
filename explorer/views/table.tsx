/** A table that its column headings sort. */
import type { ComponentChildren } from 'preact';
import { nextSort, type Sortable, sortedRows } from './sort.js';

export interface Column<Row> extends Sortable<Row> {
  label: string;
  /** The heading's tooltip, where the label does not explain itself. */
  about?: string;
  show: (row: Row, rank: number) => ComponentChildren;
  /** Figures are aligned right. */
  kind?: 'figure' | 'text' | 'chart';
  /** Hidden on narrow pages. */
  isMinor?: boolean;
}

interface TableProps<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** As BoardView has it; null: the order of the rows. */
  sort: string | null;
  onSort: (sort: string | null) => void;
}

export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, rows, keyOf, sort, onSort } = props;
  const sorted = sortedRows(rows, columns, sort);
  return (
    <div class="table-frame" tabIndex={0} role="region" aria-label={caption}>
      <table class="board-table">
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.name}
                scope="col"
                class={classOf(column)}
                title={column.about}
                aria-sort={orderOf(column.name, sort)}
              >
                {column.by === undefined ? (
                  column.label
                ) : (
                  <button type="button" onClick={() => onSort(nextSort(column.name, sort))}>
                    {column.label}
                    <span class="order" aria-hidden="true" />
                  </button>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.map((row, at) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.name} class={classOf(column)}>
                  {column.show(row, at + 1)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function orderOf(name: string, sort: string | null): 'ascending' | 'descending' | undefined {
  if (sort === name) return 'descending';
  return sort === `-${name}` ? 'ascending' : undefined;
}

function classOf({ kind = 'text', isMinor }: { kind?: string; isMinor?: boolean }): string {
  return isMinor === true ? `${kind} minor` : kind;
}
