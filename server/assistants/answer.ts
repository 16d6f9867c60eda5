/** Answers of tools: text that a model can read, and the same as data, both of bounded length. */

/** Maximum length of an answer's text; its data, as JSON, are no longer either. About 2,000 words of a model. */
export const MAX_ANSWER_CHARS = 8000;

/** What a tool found. */
export interface Answer<Data extends object> {
  /** Lines that say what the numbers are: token, time, units. */
  head: readonly string[];
  /** The list that may be long. Rows that do not fit are left out. */
  list?: List<Data>;
  /** Lines after the list: how to read it, what is not in it. */
  foot?: readonly string[];
  data: Data;
}

interface List<Data extends object> extends Table {
  /** The field of the data with an item for each row. */
  field: keyof Data & string;
  /** The rows, in the plural: `orders`. */
  noun: string;
  /** What to do for less: `a smaller within_pct or a side`. */
  less: string;
  /** How many there are if the rows are only the first of them. */
  total?: number;
}

interface Table {
  columns: readonly string[];
  rows: readonly (readonly string[])[];
}

/** A table as lines with `|` between the columns. */
export function tableLines({ columns, rows }: Table): string[] {
  return [columns, ...rows].map((cells) => cells.join(' | '));
}

export interface Rendered<Data> {
  text: string;
  data: Data & { notes: string[] };
}

/** The text of an answer, and its data with the notes of the text; a list that is too long for either is cut. */
export function rendered<Data extends object>(answer: Answer<Data>): Rendered<Data> {
  const all = answer.list?.rows.length ?? 0;
  let [fits, tooMany] = [0, all + 1];
  while (fits + 1 < tooMany) {
    const rows = (fits + tooMany) >> 1;
    if (isShort(withRows(answer, rows))) fits = rows;
    else tooMany = rows;
  }
  return withRows(answer, fits);
}

function isShort({ text, data }: Rendered<object>): boolean {
  return text.length <= MAX_ANSWER_CHARS && JSON.stringify(data).length <= MAX_ANSWER_CHARS;
}

/** The answer with the first rows of its list. */
function withRows<Data extends object>(answer: Answer<Data>, shown: number): Rendered<Data> {
  const { head, list, foot = [], data } = answer;
  const notes = [...foot];
  if (list === undefined) return { text: [...head, ...foot].join('\n'), data: { ...data, notes } };
  const total = Math.max(list.total ?? 0, list.rows.length);
  if (shown < total) {
    const isCut = shown < list.rows.length;
    const remedy = isCut ? `for less, ask for ${list.less}` : 'for more, ask for a larger limit';
    notes.unshift(`The first ${shown} of ${total} ${list.noun} are shown; ${remedy}.`);
  }
  const rows = list.rows.slice(0, shown);
  const table = rows.length === 0 ? [] : tableLines({ columns: list.columns, rows });
  const items = (data[list.field] as unknown[]).slice(0, shown);
  return {
    text: [...head, ...table, ...notes].join('\n'),
    data: { ...data, [list.field]: items, notes },
  };
}
