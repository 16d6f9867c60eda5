/** A board: its choices, its table, and its API request. */
import { Empty, Failure, Loading } from '../frame/states.js';
import { count } from '../state/format.js';
import { useDocument } from '../state/load.js';
import { show } from '../state/session.js';
import type { BoardView } from '../state/url.js';
import { BOARD_SPECS } from './boards/boards.js';
import type { BoardSpec } from './boards/spec.js';
import { RequestBar } from './request-bar.js';
import { Table } from './table.js';

export function Board({ view }: { view: BoardView }) {
  const spec = BOARD_SPECS[view.name] as BoardSpec<unknown>;
  return <BoardOf spec={spec} view={view} />;
}

function BoardOf<Row>({ spec, view }: { spec: BoardSpec<Row>; view: BoardView }) {
  const choices = Object.fromEntries(
    spec.choices.map(({ name, options }) => [
      name,
      options.find(({ value }) => value === view.choices[name])?.value ?? options[0].value,
    ]),
  );
  const { document: board, error } = useDocument(
    `${view.name} ${JSON.stringify(choices)}`,
    (client, signal) => spec.load(client, choices, signal),
    spec.reloads,
  );
  return (
    <article class="board" aria-labelledby="board-title">
      <header class="board-head">
        <h1 id="board-title">{spec.title}</h1>
        <p class="note">{spec.about}</p>
      </header>
      <div class="filters" role="toolbar" aria-label="Choices">
        {spec.choices.map(({ name, label, options }) => (
          <div key={name} class="choice-group">
            <span class="note">{label}</span>
            <div
              class={isRanking(name) && view.sort !== null ? 'segments overruled' : 'segments'}
              role="group"
              aria-label={label}
              title={
                isRanking(name) && view.sort !== null
                  ? 'Chooses the rows; a column heading sorts them now'
                  : undefined
              }
            >
              {options.map((option) => (
                <button
                  key={option.value}
                  type="button"
                  aria-pressed={choices[name] === option.value}
                  onClick={() => show(withChoice(view, name, option.value, options[0].value))}
                >
                  {option.label}
                </button>
              ))}
            </div>
          </div>
        ))}
        {board !== null && (
          <span class="note end" role="status">
            {count(board.rows.length)} {spec.unit}
            {board.note === undefined ? '' : `, ${board.note}`}
          </span>
        )}
      </div>
      {board === null ? (
        error !== null ? (
          <Failure error={error} />
        ) : (
          <Loading what="the board" />
        )
      ) : board.rows.length === 0 ? (
        <Empty title="Nothing to list">{spec.empty}</Empty>
      ) : (
        <Table
          caption={spec.title}
          columns={spec.columns}
          rows={board.rows}
          keyOf={spec.keyOf}
          sort={view.sort}
          onSort={(sort) => show({ ...view, sort }, 'replace')}
        />
      )}
      <RequestBar request={spec.request(choices, board?.rows ?? [])} />
    </article>
  );
}

/** Whether a choice decides the order of rows, which a column's heading overrules. */
const isRanking = (name: string): boolean => name.startsWith('sort');

/** The view with the choice; its address leaves out defaults. */
function withChoice(view: BoardView, name: string, value: string, byDefault: string): BoardView {
  const choices: Record<string, string> = { ...view.choices, [name]: value };
  if (value === byDefault) delete choices[name];
  // The rows are shown in the order that was chosen last.
  return { ...view, choices, sort: isRanking(name) ? null : view.sort };
}
