/** Finds parameters and values in an address that its page does not know. This code is loaded after the page. */
import { currentS } from './clock.js';
import {
  AXES,
  BOARDS,
  type BoardView,
  COMPARE_PCTS,
  COST_UNITS,
  GROUPS,
  MAX_COMPARED,
  METRICS,
  type Order,
  ORDER_KINDS,
  PARTS,
  PRESETS,
  REACHES_PCT,
  SCALES,
  SIDES,
  type TokenView,
  TYPES,
  type View,
  viewOf,
} from './url.js';

export interface Fault {
  name: string;
  value: string;
  /** What the page expects instead: values, or other parameters. */
  expected: string;
}

interface Parameter {
  expected: string;
  isRead: (value: string) => boolean;
}

/** What a board takes. */
export interface BoardParameters {
  choices: readonly { name: string; options: readonly { value: string }[] }[];
  /** Names of the columns to sort by. */
  columns: readonly string[];
  /** Whether it is about one token. */
  isOfToken?: boolean;
}

/** The faults of a fragment such as `#/token/So1...?window=9d`. @param board of the fragment; null if it is of none */
export function faultsOf(hash: string, board: BoardParameters | null): Fault[] {
  const view = viewOf(hash);
  if (view.name === 'unknown') return [];
  const parameters = board === null ? parametersOf(view) : boardParameters(board);
  return [...new URLSearchParams(hash.split('?', 2)[1] ?? '')].flatMap(([name, value]) => {
    if (!Object.hasOwn(parameters, name)) {
      return [{ name, value, expected: anyOf(Object.keys(parameters)) }];
    }
    const { expected, isRead } = parameters[name];
    return isRead(value) ? [] : [{ name, value, expected }];
  });
}

/** The view without its faults: boards keep choices that they do not know, and moments may be in the future. */
export function withoutFaults(view: View, faults: readonly Fault[]): View {
  const isFault = (name: string): boolean => faults.some((one) => one.name === name);
  if (view.name === 'token') {
    const { atS, vsS } = view;
    return { ...view, atS: isFault('at') ? null : atS, vsS: isFault('vs') ? null : vsS };
  }
  if (!isBoard(view)) return view;
  const choices = Object.entries(view.choices).filter(([name]) => !isFault(name));
  const sort = isFault('order') ? null : view.sort;
  return { ...view, choices: Object.fromEntries(choices), sort };
}

function parametersOf(view: View): Readonly<Record<string, Parameter>> {
  if (view.name === 'token') return tokenParameters(view);
  if (view.name !== 'compare') return {};
  return {
    tokens: {
      expected: `at most ${MAX_COMPARED} addresses`,
      isRead: (value) => new Set(value.split(',')).size <= MAX_COMPARED,
    },
    metric: oneOf(METRICS),
    pct: oneOf(COMPARE_PCTS.map(String)),
    scale: oneOf(SCALES),
    window: oneOf(PRESETS),
    group: oneOf(PARTS),
    ...orderParameters(view.order),
  };
}

function orderParameters(order: Order): Record<string, Parameter> {
  return {
    side: oneOf(SIDES),
    usd: { expected: 'USD from 0.01 to 1e13, such as 500000', isRead: () => order.usd !== null },
    cost: oneOf(COST_UNITS),
  };
}

function tokenParameters(view: TokenView): Record<string, Parameter> {
  const { window, band, zoom, atS, vsS, colours, order } = view;
  const time = { expected: 'epoch seconds, from before to' };
  const moment = { expected: 'epoch seconds, not after now' };
  const isPast = (t: number | null): boolean => t !== null && t <= currentS();
  const pct = { expected: 'a number from -90 to 1000, min_pct below max_pct' };
  return {
    window: oneOf([...PRESETS, 'all']),
    from: { ...time, isRead: () => typeof window === 'object' },
    to: { ...time, isRead: () => typeof window === 'object' },
    group: oneOf(GROUPS),
    types: {
      expected: `some of ${TYPES.join(', ')}`,
      isRead: (value) => value.split(',').every((one) => TYPES.some((type) => type === one)),
    },
    venues: ANY,
    exclude_venues: {
      expected: 'no venues beside it',
      isRead: (value) => value === view.excludedVenues.join(','),
    },
    min_pct: { ...pct, isRead: (value) => Number(value) === band.minPct },
    max_pct: { ...pct, isRead: (value) => Number(value) === band.maxPct },
    zoom: {
      expected: 'two times in epoch seconds, or -3600,now',
      isRead: () => zoom !== null,
    },
    prices: {
      expected: 'two prices in USD, the lower one first, beside a zoom',
      isRead: () => zoom !== null && zoom.prices !== null,
    },
    at: { ...moment, isRead: () => isPast(atS) },
    vs: { ...moment, isRead: () => isPast(vsS) },
    axis: oneOf(AXES),
    colours: {
      expected: 'two amounts of USD, the lower one first',
      isRead: () => colours !== null,
    },
    ...orderParameters(order),
    orders: {
      expected: `some of ${ORDER_KINDS.join(', ')}`,
      isRead: (value) => value.split(',').every((one) => ORDER_KINDS.some((kind) => kind === one)),
    },
    ladder: oneOf(REACHES_PCT.map(String)),
    pool: ANY,
  };
}

function boardParameters({
  choices,
  columns,
  isOfToken,
}: BoardParameters): Record<string, Parameter> {
  const chosen = choices.map(({ name, options }): [string, Parameter] => {
    return [name, oneOf(options.map(({ value }) => value))];
  });
  return {
    ...(isOfToken === true ? { token: ANY } : {}),
    ...Object.fromEntries(chosen),
    order: {
      expected: `a column, in reverse after '-': ${anyOf(columns)}`,
      isRead: (value) => columns.includes(value.replace(/^-/, '')),
    },
    find: ANY,
  };
}

const ANY: Parameter = { expected: '', isRead: () => true };

function oneOf(values: readonly string[]): Parameter {
  return { expected: anyOf(values), isRead: (value) => values.includes(value) };
}

function anyOf(values: readonly string[]): string {
  return [values.slice(0, -1).join(', '), ...values.slice(-1)].filter(Boolean).join(' or ');
}

export function isBoard(view: View): view is BoardView {
  return BOARDS.some((name) => name === view.name);
}
