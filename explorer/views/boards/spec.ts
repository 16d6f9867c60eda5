/** The parts of a board: texts, choices, columns and requests. */
import type { ComponentChildren } from 'preact';
import type { AddressClient } from '../../../client/address-client.js';
import type { ApiRequest } from '../../state/requests.js';
import type { BoardView } from '../../state/url.js';
import type { Column } from '../table.js';

export type Choices = Readonly<Record<string, string>>;

/** What the choices mean now, if that is not obvious. @param nowS by the server's clock */
export type Meaning = (choices: Choices, nowS: number) => string;

interface Choice {
  /** Name of the parameter. */
  name: string;
  label: string;
  /** The first is the default. */
  options: readonly { value: string; label: string }[];
  /** Whether it has an effect beside the others; default: always. */
  isFor?: (choices: Choices) => boolean;
}

export interface BoardToken {
  address: string;
  symbol?: string | null;
  name?: string | null;
}

export interface Board<Row> {
  rows: readonly Row[];
  /** A remark beside the count of rows. */
  note?: string;
  /** The requests that loaded it, if they do not follow from the choices alone. */
  requests?: readonly ApiRequest[];
}

export interface BoardSpec<Row> {
  /** Whether its rows are of one token, which the choice `token` names. */
  isOfToken?: boolean;
  about: string;
  /** What the rows list, such as `tokens`. */
  unit: string;
  /** Shown when there are no rows. */
  empty: string;
  choices: readonly Choice[];
  /** The choice that sets the length of time: if there are no rows, the page offers longer ones. */
  span?: string;
  /** @param rows all of the board, by which charts are scaled */
  columns: (choices: Choices, rows: readonly Row[]) => readonly Column<Row>[];
  /** The column by which the API ranks the rows, in the form of `sort` in BoardView. */
  ranking: (choices: Choices) => string;
  meaning?: Meaning;
  keyOf: (row: Row) => string;
  /** The token of a row, which can be a favourite. */
  tokenOf: (row: Row) => BoardToken;
  /** Name of a row, and the texts that find it; default: those of its token. */
  textsOf?: (row: Row) => readonly [name: string, ...texts: string[]];
  /** Details of a row beyond its columns, shown below it. */
  details: (row: Row, choices: Choices) => ComponentChildren;
  load: (client: AddressClient, choices: Choices, signal: AbortSignal) => Promise<Board<Row>>;
  /** Undefined if the requests are known only once the board is loaded. */
  request?: (choices: Choices) => ApiRequest;
  /** Whether rows show the token's price: the page warns that it may be old if the token has no recent depth. */
  hasPrices?: boolean;
  /** Whether it reloads automatically. */
  reloads: boolean;
}

/** The choices of a view, with the board's defaults. */
export function choicesOf<Row>(spec: BoardSpec<Row>, view: BoardView): Choices {
  const chosen = spec.choices.map(({ name, options }) => [
    name,
    options.find(({ value }) => value === view.choices[name])?.value ?? options[0].value,
  ]);
  const { token } = view.choices;
  if (spec.isOfToken === true && token !== undefined) chosen.push(['token', token]);
  return Object.fromEntries(chosen) as Choices;
}
