/** A board: its choices, its table, and its API request. */
import type { TopScore } from '../../client/index.js';
import { columnsOfRows } from '../export/columns.js';
import { boardFileName } from '../export/depth-name.js';
import { Search } from '../frame/search.js';
import { Empty, Failure, Loading } from '../frame/states.js';
import {
  favourites as favouritesValue,
  onlyFavourites,
  showOnlyFavourites,
} from '../state/favourites.js';
import { currentS } from '../state/clock.js';
import { useKeyWatch } from '../state/key-watch.js';
import { useDocument, useNowS } from '../state/load.js';
import { show } from '../state/session.js';
import { BOARD_TITLES, type BoardView, hashOf, tokenView } from '../state/url.js';
import { useValue } from '../state/use-value.js';
import { count, shortAddress } from '../state/format.js';
import { BOARD_SPECS } from './boards/boards.js';
import {
  type BoardSpec,
  type BoardToken,
  type Choices,
  choicesOf,
  type Meaning,
} from './boards/spec.js';
import { scoreColumns } from './boards/standing.js';
import { BoardFilter } from './board-filter.js';
import { RequestBar } from './request-bar.js';
import { sortedRows } from './sort.js';
import { Star } from './star.js';
import { Table } from './table.js';
import { TokenLinks } from './token-links.js';

/** The token that an empty board follows. A server that lacks it sends heartbeats, too. */
const ANY_TOKEN = 'So11111111111111111111111111111111111111112';

export function Board({ view }: { view: BoardView }) {
  const spec = BOARD_SPECS[view.name] as BoardSpec<unknown>;
  if (spec.isOfToken === true && (view.choices.token ?? '') === '') {
    return <BoardWithoutToken {...{ view, spec }} />;
  }
  return <BoardOf key={view.name} spec={spec} view={view} />;
}

interface BoardOfProps<Row> {
  spec: BoardSpec<Row>;
  view: BoardView;
}

function BoardWithoutToken({ spec, view }: BoardOfProps<unknown>) {
  return (
    <article class="board" aria-labelledby="board-title">
      <header class="board-head">
        <h1 id="board-title">{BOARD_TITLES[view.name]}</h1>
        <p class="note">{spec.about}</p>
      </header>
      <Empty
        title="Of which token?"
        below={
          <TokenLinks
            title="One of the best scored:"
            hrefOf={(token) => hashOf({ ...view, choices: { ...view.choices, token } })}
          />
        }
      >
        Choose a token here, or open this page from the token's own.
      </Empty>
    </article>
  );
}

function BoardOf<Row>({ spec, view }: BoardOfProps<Row>) {
  const { isOfToken = false } = spec;
  const choices = choicesOf(spec, view);
  const { document: board, error } = useDocument(
    `${view.name} ${JSON.stringify(choices)}`,
    async (client, signal) => ({ ...(await spec.load(client, choices, signal)), t: currentS() }),
    spec.reloads ? 'by time' : 'never',
  );
  const { document: scores } = useDocument(
    view.name === 'scores' || isOfToken ? null : 'scores of all tokens',
    async (client, signal) => {
      const { tokens } = await client.getTopScores({ chain: 'all', details: true }, { signal });
      return new Map(tokens.map((one) => [one.address, one]));
    },
    spec.reloads ? 'by time' : 'never',
  );
  const own = spec.columns(choices, board?.rows ?? []);
  const columns =
    view.name === 'scores' || isOfToken
      ? own
      : [...own, ...scoreColumns(scores ?? new Map<string, TopScore>(), spec.tokenOf)];
  const [firstRow] = board?.rows ?? [];
  const followed =
    firstRow === undefined ? (choices.token ?? ANY_TOKEN) : spec.tokenOf(firstRow).address;
  useKeyWatch(board === null ? null : followed);
  const requests = board?.requests ?? (spec.request === undefined ? [] : [spec.request(choices)]);
  const favourites = useValue(favouritesValue);
  const isOnly = useValue(onlyFavourites) && !isOfToken;
  const namesOf = (row: Row): readonly [string, ...string[]] =>
    spec.textsOf?.(row) ?? textsOf(spec.tokenOf(row));
  const rows = (board?.rows ?? []).filter((row) => {
    const isChosen = !isOnly || favourites.includes(spec.tokenOf(row).address);
    return isChosen && hasText(namesOf(row), view.find);
  });
  const oldCount =
    spec.hasPrices === true && scores !== null
      ? rows.filter((row) => !scores.has(spec.tokenOf(row).address)).length
      : 0;
  const offered = spec.choices.filter(({ isFor }) => isFor?.(choices) ?? true);
  const shown = sortedRows(rows, columns, view.sort);
  return (
    <article class="board" aria-labelledby="board-title">
      <header class="board-head">
        <h1 id="board-title">
          {BOARD_TITLES[view.name]}
          {isOfToken && (
            <OfToken address={choices.token} row={firstRow && spec.tokenOf(firstRow)} />
          )}
        </h1>
        <p class="note">
          {spec.about}
          {spec.meaning !== undefined && <Meaning of={spec.meaning} choices={choices} />}
        </p>
      </header>
      <div class="filters" role="toolbar" aria-label="Choices">
        {offered.map(({ name, label, options }) => (
          <div key={name} class="choice-group">
            {label !== '' && <span class="note">{label}</span>}
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
        <BoardFilter view={view} hasFavourites={!isOfToken} />
        {isOfToken && (
          <Search
            id="board-found"
            placeholder="Another token"
            onChoose={(token) => show({ ...view, choices: { ...view.choices, token } })}
          />
        )}
        {board !== null && (
          <span class="note end" role="status">
            {rows.length < board.rows.length && `${count(rows.length)} of `}
            {count(board.rows.length)}{' '}
            {board.rows.length === 1 ? spec.unit.slice(0, -1) : spec.unit}
            {board.note === undefined ? '' : `, ${board.note}`}
            {oldCount > 0 && `, ${count(oldCount)} without a recent score: their prices may be old`}
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
        <Empty title="Nothing to list" below={<Longer {...{ spec, view, choices }} />}>
          {spec.empty}
        </Empty>
      ) : rows.length === 0 ? (
        <NoneLeft {...{ view, isOnly }} />
      ) : (
        <Table
          caption={BOARD_TITLES[view.name]}
          columns={columns}
          rows={shown}
          keyOf={spec.keyOf}
          nameOf={(row) => namesOf(row)[0]}
          controls={(row) => {
            if (isOfToken) return null;
            const token = spec.tokenOf(row);
            return <Star address={token.address} name={nameOf(token)} />;
          }}
          details={(row) => spec.details(row, choices)}
          sort={view.sort}
          ranking={spec.ranking(choices)}
          onSort={(sort) => show({ ...view, sort }, 'replace')}
        />
      )}
      <RequestBar
        requests={requests}
        data={{
          name: () => boardFileName(view.name, board?.t ?? currentS()),
          load: () => Promise.resolve(columnsOfRows(shown)),
        }}
      />
    </article>
  );
}

/** A separate component, so that a tick of the clock renders only this text. */
function Meaning({ of, choices }: { of: Meaning; choices: Choices }) {
  return <> {of(choices, useNowS())}</>;
}

const nameOf = ({ symbol, address }: BoardToken): string => symbol ?? shortAddress(address);

const textsOf = (token: BoardToken): readonly [string, ...string[]] => [
  nameOf(token),
  ...[token.address, token.symbol, token.name].filter((one) => typeof one === 'string'),
];

function hasText(texts: readonly string[], text: string): boolean {
  const wanted = text.trim().toLowerCase();
  return texts.some((one) => one.toLowerCase().includes(wanted));
}

/** The token of a board, as a link to its depth. @param row of any of its rows; undefined without rows */
function OfToken({ address = '', row }: { address?: string; row?: BoardToken }) {
  return (
    <>
      {' of '}
      <a href={hashOf(tokenView(address))} title={address}>
        {nameOf({ ...row, address })}
      </a>
    </>
  );
}

/** Offers longer periods, which may have rows. */
function Longer<Row>({
  spec: { span, choices: all },
  view,
  choices,
}: {
  spec: BoardSpec<Row>;
  view: BoardView;
  choices: Choices;
}) {
  const options = span === undefined ? [] : (all.find(({ name }) => name === span)?.options ?? []);
  const longer = options.slice(1 + options.findIndex(({ value }) => value === choices[span ?? '']));
  if (span === undefined || longer.length === 0) return null;
  return (
    <div class="choice-group">
      <span>Try a longer one:</span>
      {longer.map(({ value, label }) => (
        <button
          key={value}
          type="button"
          onClick={() => show(withChoice(view, span, value, options[0].value))}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

function NoneLeft({ view, isOnly }: { view: BoardView; isOnly: boolean }) {
  const isFound = view.find.trim() !== '';
  return (
    <div class="state empty" role="status">
      <strong>
        {isFound ? `Nothing here matches '${view.find}'` : 'No favourite is on this board'}
      </strong>
      {isOnly && (
        <p>The star at the end of a row, or beside a token's name, adds it to the favourites.</p>
      )}
      <button
        type="button"
        onClick={() => {
          showOnlyFavourites(false);
          show({ ...view, find: '' }, 'replace');
        }}
      >
        Show all rows
      </button>
    </div>
  );
}

/** Whether a choice decides the order of rows, which a column heading overrides. */
const isRanking = (name: string): boolean => name.startsWith('sort');

/** The view with the choice; its address omits defaults. */
function withChoice(view: BoardView, name: string, value: string, byDefault: string): BoardView {
  const choices: Record<string, string> = { ...view.choices, [name]: value };
  if (value === byDefault) delete choices[name];
  // A newly chosen ranking replaces the order of a column heading; another kind of rows has other columns.
  return { ...view, choices, sort: isRanking(name) || name === 'kind' ? null : view.sort };
}
