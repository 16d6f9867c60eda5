/** The parts of a board: texts, choices, columns and requests. */
import type { ComponentChildren } from 'preact';
import type { FathomClient } from '../../../client/index.js';
import type { ApiRequest } from '../../state/requests.js';
import type { Column } from '../table.js';

type Choices = Readonly<Record<string, string>>;

interface Choice {
  /** Name of the parameter. */
  name: string;
  label: string;
  /** The first is the default. */
  options: readonly { value: string; label: string }[];
}

export interface BoardToken {
  address: string;
  symbol?: string | null;
  name?: string | null;
}

export interface BoardSpec<Row> {
  about: string;
  /** What the rows list, such as `tokens`. */
  unit: string;
  /** Shown when there are no rows. */
  empty: string;
  choices: readonly Choice[];
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string;
  /** The token of a row, which can be a favourite. */
  tokenOf: (row: Row) => BoardToken;
  /** Details of a row beyond its columns, shown below it. */
  details: (row: Row) => ComponentChildren;
  load: (
    client: FathomClient,
    choices: Choices,
    signal: AbortSignal,
  ) => Promise<{ rows: readonly Row[]; note?: string }>;
  request: (choices: Choices, rows: readonly Row[]) => ApiRequest;
  /** Whether it reloads automatically. */
  reloads: boolean;
}
