/** The rows of a query as a table, CSV or JSON. */
import { isNested } from '../../storage/export/sql.js';
import type { QueryColumn } from '../../storage/duckdb/query-database.js';
import { csvField } from '../download/formats.js';
import { jsonText } from './output.js';

type Row = readonly (string | null)[];

/** Texts of a format; rows come a few thousand at a time. */
export interface QueryFormat {
  begin(): string;
  rows(rows: readonly Row[]): string;
  end(): string;
}

export function csvFormat(columns: readonly QueryColumn[]): QueryFormat {
  const line = (fields: Row): string => `${fields.map(csvField).join(',')}\n`;
  return {
    begin: () => line(columns.map(({ name }) => name)),
    rows: (rows) => rows.map(line).join(''),
    end: () => '',
  };
}

const NUMBER = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(.*\))$/;

/** Numbers that JSON lacks, as DuckDB's nested values have them; strings are matched, so that they stay. */
const STRING_OR_NO_NUMBER = /"(?:[^"\\]|\\.)*"|-?\b(?:nan|inf(?:inity)?)\b/gi;

/** One array of objects, an object a line. Numbers that JSON lacks are null. */
export function jsonFormat(columns: readonly QueryColumn[]): QueryFormat {
  const names = columns.map(({ name }) => `${jsonText(name)}:`);
  const kinds = columns.map(({ type }) =>
    NUMBER.test(type) ? 'number' : type === 'BOOLEAN' || isNested(type) ? 'json' : 'text',
  );
  const value = (text: string | null, i: number): string => {
    if (text === null) return 'null';
    if (kinds[i] === 'text') return jsonText(text);
    if (kinds[i] === 'number' && !/^-?\d/.test(text)) return 'null';
    if (kinds[i] === 'number') return text;
    return text.replace(STRING_OR_NO_NUMBER, (found) => (found.startsWith('"') ? found : 'null'));
  };
  let separator = '\n';
  return {
    begin: () => '[',
    rows: (rows) =>
      rows
        .map((row) => {
          const before = separator;
          separator = ',\n';
          return `${before}{${row.map((text, i) => names[i] + value(text, i)).join(',')}}`;
        })
        .join(''),
    end: () => (separator === '\n' ? ']\n' : '\n]\n'),
  };
}

/** Rows whose widths decide those of the table's columns. */
export const MEASURED_ROWS = 1000;
const GAP = '  ';
/** Columns are not made narrower than this while others can be. */
const LEAST_WIDTH = 6;
const NULL_TEXT = 'NULL';

/**
 * Columns side by side, numbers to the right. It fits into a terminal: long texts are cut, and columns for which there
 * is no room are named below.
 * @param first the first rows, at most MEASURED_ROWS
 * @param terminalColumns undefined: nothing is cut
 */
export function tableFormat(
  columns: readonly QueryColumn[],
  first: readonly Row[],
  terminalColumns: number | undefined,
): QueryFormat {
  const isNumber = columns.map(({ type }) => NUMBER.test(type));
  const natural = columns.map(({ name }, i) =>
    Math.max(name.length, ...first.map((row) => shown(row[i]).length)),
  );
  const widths = fitted(natural, terminalColumns ?? Infinity);
  const line = (fields: readonly string[]): string => {
    const cells = widths.map((width, i) => {
      const text = terminalColumns === undefined ? fields[i] : cut(fields[i], width);
      return isNumber[i] ? text.padStart(width) : text.padEnd(width);
    });
    return `${cells.join(GAP).trimEnd()}\n`;
  };
  const hidden = columns.slice(widths.length).map(({ name }) => name);
  return {
    begin: () =>
      line(columns.map(({ name }) => name)) + line(widths.map((width) => '-'.repeat(width))),
    rows: (rows) => rows.map((row) => line(row.map(shown))).join(''),
    end: () =>
      hidden.length === 0
        ? ''
        : `(too narrow for ${hidden.join(', ')}: select fewer columns, or use --format csv)\n`,
  };
}

/** Control characters could move a terminal's cursor. */
const shown = (text: string | null): string =>
  // oxlint-disable-next-line no-control-regex
  text === null ? NULL_TEXT : text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '·');

const cut = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;

/** The widths of the columns that fit; the widest ones become narrower first. */
function fitted(natural: readonly number[], available: number): number[] {
  const widths = [...natural];
  const total = (): number => widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
  while (total() > available) {
    const widest = Math.max(...widths);
    if (widest > LEAST_WIDTH) widths[widths.indexOf(widest)]--;
    else if (widths.length > 1) widths.pop();
    else break;
  }
  return widths;
}
