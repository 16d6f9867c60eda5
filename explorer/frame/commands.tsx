/** The command palette: finds tokens, views, times and actions by the typed text. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { FoundToken } from '../../client/index.js';
import { favourites } from '../state/favourites.js';
import { absoluteTime, price, shortAddress, usd } from '../state/format.js';
import { useDocument, useNowS } from '../state/load.js';
import {
  chooseTheme,
  chooseZone,
  forgetKey,
  isLive,
  lastToken,
  show,
  shownChoices,
  theme,
} from '../state/session.js';
import { pinnedAt, unpinned } from '../state/pin.js';
import { REACH_S, TOO_OLD } from '../state/requests.js';
import { EXPECTED_TIME, isLater, spokenTime } from '../state/spoken-time.js';
import {
  BOARD_TITLES,
  BOARDS,
  boardView,
  compareView,
  DEFAULT_VIEW,
  isOrderUsd,
  tokenView,
  type View,
} from '../state/url.js';
import { amountOf } from '../views/amount.js';
import { toggled } from '../state/choices.js';
import { offsetS, zone } from '../state/zone.js';
import { ACTION, type Command, distinct, nameOf } from './command.js';
import { joined, tokensWith } from './known-tokens.js';
import { pageButtons } from './page-buttons.js';

/** The search starts after a pause in typing. */
const PAUSE_MS = 150;
const MAX_TOKENS = 8;

const VIEWS: readonly (readonly [label: string, view: View])[] = [
  ...BOARDS.map((name) => [BOARD_TITLES[name], boardView(name)] as const),
  ['Compare', compareView([])],
];

/** What Enter runs: the selected row or, if the list was not loaded yet, the first row found for the text. */
export type Entered = 'row' | 'text';

interface CommandsProps {
  text: string;
  /** The place of the chosen row. */
  chosen: number;
  entered: Entered | null;
  onChoose: (at: number) => void;
  /** Reports how many rows there are. */
  onCount: (count: number) => void;
  /** Called when the palette should close. */
  onClose: () => void;
}

export function Commands({ text, chosen, entered, onChoose, onCount, onClose }: CommandsProps) {
  const list = useRef<HTMLUListElement>(null);
  const [query, setQuery] = useState(text.trim());
  const nowS = useNowS();
  useEffect(() => {
    const timer = setTimeout(() => setQuery(text.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  const { document: found, isLoading } = useDocument(
    `commands ${query}`,
    (client, signal) =>
      client.getTokens(
        { limit: MAX_TOKENS, chain: 'all', ...(query === '' ? {} : { query }) },
        { signal },
      ),
    'never',
  );
  const { document: inside } = useDocument(
    query === '' ? null : `commands inside ${query}`,
    (client) => tokensWith(client, query),
    'never',
  );
  const wanted = text.trim().toLowerCase();
  const times = [
    ...(wanted === 'now' ? nowCommands() : timeCommands(text, nowS)),
    ...orderCommands(wanted),
  ];
  const isCurrent = query === text.trim();
  const begins = (found?.tokens ?? [])
    // Results for the previous text stay only if they also match the current text, so that Enter runs only matching rows.
    .filter((token) => isCurrent || beginsWith(token, wanted))
    .toSorted(
      (a, b) =>
        Number(favourites.value.includes(b.address)) - Number(favourites.value.includes(a.address)),
    );
  const more = isCurrent ? joined(begins, inside ?? [], MAX_TOKENS).slice(begins.length) : [];
  const commands = distinct([
    ...times,
    ...begins.map(tokenCommand),
    ...matching(
      [
        ...viewCommands(),
        ...actions(),
        ...(wanted === '' ? [] : [...choiceCommands(), ...buttons()]),
      ],
      wanted,
    ),
    ...more.map(tokenCommand),
  ]);
  const run = (at: number): void => {
    const command = commands[at] as Command | undefined;
    if (command === undefined) return;
    onClose();
    command.act();
  };
  // Times are listed first, so with one of them the first row is known before the search ends.
  const isComplete = times.length > 0 || (query === text.trim() && !isLoading);
  const isDue = entered === 'row' || (entered === 'text' && isComplete);
  useLayoutEffect(() => onCount(commands.length), [commands.length]);
  useEffect(() => {
    if (isDue) run(chosen);
  }, [isDue]);
  return (
    <ul ref={list} id="commands-list" role="listbox" aria-label="Commands" tabIndex={-1}>
      {commands.map((command, at) => (
        <li
          key={nameOf(command)}
          id={`command-${at}`}
          role="option"
          title={command.address}
          aria-selected={at === chosen}
          onPointerMove={() => onChoose(at)}
          onClick={() => run(at)}
        >
          <b>{command.label}</b>
          <span class="note">{command.note}</span>
        </li>
      ))}
      {commands.length === 0 && (
        <li role="option" aria-selected={false} aria-disabled={true} class="note">
          {!isComplete
            ? 'Searching'
            : isTooOld(text, nowS)
              ? TOO_OLD
              : isLater(text, nowS, offsetS)
                ? EXPECTED_TIME
                : `Nothing is called '${text}'`}
        </li>
      )}
    </ul>
  );
}

function tokenCommand({ address, chain, symbol, name, price_usd }: FoundToken): Command {
  return {
    address,
    label: symbol ?? shortAddress(address),
    note: [
      favourites.value.includes(address) ? '★' : '',
      name ?? '',
      chain === 'evmchain' ? 'EVM' : '',
      price_usd === null ? '' : price(price_usd),
    ]
      .filter((one) => one !== '')
      .join('  '),
    act: () => show(tokenView(address)),
  };
}

/** Commands with all the words of a text, those first whose label begins with it. @param text in lower case */
function matching(commands: readonly Command[], text: string): Command[] {
  const words = text.split(/\s+/);
  const isBeginning = ({ label }: Command): boolean => label.toLowerCase().startsWith(text);
  return commands
    .filter(({ label, note }) => {
      const lower = `${label} ${note}`.toLowerCase();
      return words.every((word) => lower.includes(word));
    })
    .toSorted((a, b) => Number(isBeginning(b)) - Number(isBeginning(a)));
}

/** Whether a search for the text would find the token. @param text in lower case */
function beginsWith(
  { symbol, name, address }: Record<'symbol' | 'name', string | null> & { address: string },
  text: string,
): boolean {
  return [symbol, name, address].some((one) => one?.toLowerCase().startsWith(text) ?? false);
}

/** The token in sight, or the last one, at the typed time. */
function timeCommands(text: string, nowS: number): Command[] {
  const shown = lastToken.value;
  const t = spokenTime(text, nowS, offsetS);
  if (t === null || shown === null || isTooOld(text, nowS)) return [];
  const act = (): void => show(pinnedAt(shown, t, nowS));
  return [{ label: absoluteTime(t), note: 'depth at that time', act }];
}

/** The token in sight, or the last one, without a pinned time, in a window that ends now. */
function nowCommands(): Command[] {
  const shown = lastToken.value;
  if (shown === null) return [];
  const act = (): void => {
    const { window, zoom, ...rest } = unpinned(shown);
    show({
      ...rest,
      window: typeof window === 'string' ? window : DEFAULT_VIEW.window,
      zoom: zoom?.toS === null ? zoom : null,
    });
  };
  return [{ label: 'Now', note: 'depth now', act }];
}

/** What `sell 500k` or `buy 1M` of the token in sight, or the last one, costs. @param text in lower case */
function orderCommands(text: string): Command[] {
  const shown = lastToken.value;
  const [, side, amount = ''] = /^(sell|buy) +(.+)$/.exec(text) ?? [];
  const amountUsd = amountOf(amount);
  if (shown === null || amountUsd === null || !isOrderUsd(amountUsd)) return [];
  const order = { ...shown.order, side: side === 'buy' ? 'buy' : 'sell', usd: amountUsd } as const;
  return [
    {
      label: `${side === 'buy' ? 'Buy' : 'Sell'} ${usd(amountUsd)}`,
      note: 'what it costs',
      act: () => show({ ...shown, order }),
    },
  ];
}

/** Whether a text means a time before the API's history. */
function isTooOld(text: string, nowS: number): boolean {
  const t = spokenTime(text, nowS, offsetS);
  return t !== null && t < nowS - REACH_S;
}

function viewCommands(): Command[] {
  return VIEWS.map(([label, view]) => ({ label, note: 'view', act: () => show(view) }));
}

/** Types and venues of the token in sight, or the last one: the map shows them alone, or no longer. */
function choiceCommands(): Command[] {
  const shown = lastToken.value;
  const choices = shownChoices.value;
  if (shown === null || choices === null) return [];
  const command = (kind: 'types' | 'venues', key: string, label: string): Command => {
    const chosen: readonly string[] = shown[kind];
    const isChosen = chosen.includes(key);
    return {
      label,
      note: `${kind === 'types' ? 'type' : 'venue'}: ${isChosen ? 'show no longer' : 'show'}`,
      act: () =>
        show({
          ...shown,
          ...(kind === 'venues' ? { excludedVenues: [] } : {}),
          [kind]: toggled(chosen, key),
        }),
    };
  };
  return [
    ...choices.types.map(({ key, label }) => command('types', key, label)),
    ...choices.venues.map(({ key, label }) => command('venues', key, label)),
  ];
}

function buttons(): Command[] {
  return pageButtons().map(({ label, note, press }) => ({
    label,
    note,
    // Once the palette has closed: it would take the focus back.
    act: () => setTimeout(press),
  }));
}

function actions(): Command[] {
  const otherTheme = theme.value === 'dark' ? 'light' : 'dark';
  const otherZone = zone.value === 'utc' ? 'local' : 'utc';
  return [
    { label: `Switch to the ${otherTheme} theme`, act: () => chooseTheme(otherTheme) },
    {
      label:
        otherZone === 'utc' ? 'Show times in UTC' : 'Show times in the time zone of this browser',
      act: () => chooseZone(otherZone),
    },
    {
      label: isLive.value ? 'Pause: load no new data' : 'Resume: load new data',
      act: () => isLive.set(!isLive.value),
    },
    {
      label: 'Copy the address of this view',
      act: () => void navigator.clipboard.writeText(location.href),
    },
    { label: 'Open the documents', act: () => location.assign('/docs') },
    { label: 'Forget the key', act: forgetKey },
  ].map((one) => ({ ...one, note: ACTION }));
}
