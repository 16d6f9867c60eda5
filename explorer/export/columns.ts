/** Data as columns, from which files are written. */

export type Field = string | number | boolean | null;

/** All columns of a file have the same length. */
export interface FileColumn {
  name: string;
  values: Field[];
  /** What its numbers are: whole numbers, or times in epoch milliseconds; by default, any numbers. */
  kind?: 'whole' | 'time';
}

/** Columns of the API's rows: a field of a nested object becomes a column `outer.inner`; lists become JSON text. */
export function columnsOfRows(rows: readonly unknown[]): FileColumn[] {
  const columns = new Map<string, Field[]>();
  for (const [at, row] of rows.entries()) {
    for (const [name, value] of fieldsOf(row, '')) {
      let values = columns.get(name);
      if (values === undefined) columns.set(name, (values = []));
      while (values.length < at) values.push(null);
      values.push(value);
    }
  }
  return [...columns].map(([name, values]) => {
    while (values.length < rows.length) values.push(null);
    return { name, values };
  });
}

function* fieldsOf(value: unknown, name: string): Generator<[string, Field]> {
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) {
    yield [name, value as Field];
  } else if (Array.isArray(value)) yield [name, JSON.stringify(value)];
  else if (typeof value === 'object') {
    for (const [inner, one] of Object.entries(value)) {
      yield* fieldsOf(one, name === '' ? inner : `${name}.${inner}`);
    }
  }
}

/** The lines of a chart, one row per time. */
export function columnsOfLines(
  t: readonly number[],
  lines: readonly { label: string; values: readonly (number | null | undefined)[] }[],
): FileColumn[] {
  return [
    { name: 't', values: [...t], kind: 'whole' },
    ...lines.map(({ label, values }) => ({
      name: label,
      values: values.map((value) => value ?? null),
    })),
  ];
}
