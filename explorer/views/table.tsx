/** A table that is sorted by its column headings, and whose rows open to show details. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../frame/icon.js';
import { hideCutColumns } from './cut-columns.js';
import { nextSort, type Sortable } from './sort.js';

export interface Column<Row> extends Sortable<Row> {
  label: string;
  /** The heading's tooltip, if the label needs an explanation. */
  about?: string;
  /** @param toggle opens the row, or closes it */
  show: (row: Row, rank: number, toggle: () => void) => ComponentChildren;
  /** Figures are aligned right. */
  kind?: 'figure' | 'text' | 'chart';
}

interface TableProps<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  /** In display order. */
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  nameOf: (row: Row) => string;
  /** Controls at the end of a row. */
  controls: (row: Row) => ComponentChildren;
  details: (row: Row) => ComponentChildren;
  /** As in BoardView; null: the order of the rows. */
  sort: string | null;
  /** The column that the order of the rows follows. */
  ranking: string;
  onSort: (sort: string | null) => void;
}

export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, rows, keyOf, nameOf, controls, details, sort, ranking, onSort } = props;
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => (frame.current === null ? undefined : hideCutColumns(frame.current)));
  const toggle = (key: string): void => {
    const next = new Set(open);
    if (!next.delete(key)) next.add(key);
    setOpen(next);
  };
  return (
    <div class="table-frame" ref={frame} tabIndex={0} role="region" aria-label={caption}>
      <table class="board-table">
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.name}
                scope="col"
                class={column.kind ?? 'text'}
                title={column.about}
                aria-sort={orderOf(column, sort ?? ranking)}
              >
                {column.by === undefined ? (
                  <span class="heading">{column.label}</span>
                ) : (
                  <button
                    type="button"
                    onClick={() => onSort(nextSort(column.name, sort, ranking))}
                  >
                    <span class="heading">{column.label}</span>
                    <span class="order" aria-hidden="true" />
                  </button>
                )}
              </th>
            ))}
            <th scope="col" class="controls">
              <span class="hidden">Favourite and details</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.flatMap((row, at) => {
            const key = keyOf(row);
            const isOpen = open.has(key);
            return [
              <tr key={key} class={isOpen ? 'row open' : 'row'}>
                {columns.map((column) => (
                  <td key={column.name} class={column.kind ?? 'text'}>
                    {column.show(row, at + 1, () => toggle(key))}
                  </td>
                ))}
                <td class="controls">
                  {controls(row)}
                  <button
                    type="button"
                    class="tool icon-only disclose"
                    aria-expanded={isOpen}
                    aria-label={`Details of ${nameOf(row)}`}
                    title="Details"
                    onClick={() => toggle(key)}
                  >
                    <Icon name="down" />
                  </button>
                </td>
              </tr>,
              isOpen && (
                <tr key={`${key} details`} class="details">
                  <td colSpan={columns.length + 1}>
                    <div class="details-frame">{details(row)}</div>
                  </td>
                </tr>
              ),
            ];
          })}
        </tbody>
      </table>
    </div>
  );
}

/** Texts are sorted from A to Z first, numbers from the largest down. */
function orderOf(
  { name, kind = 'text' }: { name: string; kind?: string },
  sort: string,
): 'ascending' | 'descending' | undefined {
  if (sort.replace(/^-/, '') !== name) return undefined;
  return (sort === name) === (kind === 'text') ? 'ascending' : 'descending';
}
