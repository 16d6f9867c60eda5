/** Flags, request, key and failures of the commands that call a running server's API. */
import { FathomError } from '../../client/index.js';
import { MARKET_TYPES } from '../../compute/market.js';
import { REPLAY_GROUPS } from '../../compute/replay/query.js';
import { UsageError } from '../../storage/errors.js';
import { baseUrl, flagOf, ReplayError } from '../download/request.js';
import type { Flags } from './flags.js';
import { atSignal } from './signals.js';

export const DEFAULT_URL = 'http://127.0.0.1:8080';

/** Flags that choose what each snapshot shows. The server checks them. */
export const VIEW_FLAGS = {
  group: {
    placeholder: 'G',
    meaning: 'the unit that one ladder sums',
    default: 'market',
    values: REPLAY_GROUPS,
  },
  types: {
    placeholder: 'LIST',
    meaning: `types of markets, separated by commas: ${MARKET_TYPES.join(', ')}`,
    default: 'all',
  },
  venues: {
    placeholder: 'LIST',
    meaning: 'venues, separated by commas',
    default: 'all',
  },
  'exclude-types': { placeholder: 'LIST', meaning: 'types of markets to leave out' },
  'exclude-venues': { placeholder: 'LIST', meaning: 'venues to leave out' },
  'min-pct': {
    placeholder: 'N',
    meaning: 'lower end of the band, in percent of the price',
    default: '-50',
  },
  'max-pct': {
    placeholder: 'N',
    meaning: 'upper end of the band, in percent of the price',
    default: '100',
  },
} as const satisfies Flags;

export const ONCHAIN_FLAG = { meaning: 'on-chain markets only' } as const;

export const URL_FLAG = {
  placeholder: 'URL',
  meaning: 'the server',
  default: DEFAULT_URL,
  variable: 'FATHOM_URL',
  read: baseUrl,
} as const;

/** The query parameters that the flags stand for: their names have underscores. */
export function parametersOf(
  flags: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Record<string, string> {
  const parameters: Record<string, string> = flags.onchain === true ? { onchain: 'true' } : {};
  for (const name of names) {
    const value = flags[name];
    if (typeof value === 'string') parameters[name.replaceAll('-', '_')] = value;
  }
  return parameters;
}

/** @throws UsageError */
export function keyOf(): string {
  const key = process.env.FATHOM_KEY?.trim() ?? '';
  if (key === '') throw new UsageError('FATHOM_KEY: expected the API key in this variable');
  return checkedKey(key, 'FATHOM_KEY');
}

/** @param from the flag or variable that it came from. @throws UsageError */
export function checkedKey(text: string, from: string): string {
  const key = text.trim();
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new UsageError(
    `${from}: expected an API key; this text has characters that keys never have`,
  );
}

/** The first signal aborts the command; a second one ends the process at once. */
export async function interruptible<T>(body: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupt = new AbortController();
  const unlisten = atSignal(() => interrupt.abort(new ReplayError('interrupted')));
  try {
    return await body(interrupt.signal);
  } finally {
    unlisten();
  }
}

/** Rewords the failure of a request: names flags instead of parameters, which the server puts in backticks. */
export function namedFailure(error: unknown): unknown {
  if (!(error instanceof FathomError)) return error;
  const { message, parameter, status } = error;
  if (parameter === null || status !== 400) return new ReplayError(message);
  const words = message
    .slice(message.indexOf(': ') + 2)
    .replace(/`([a-z_]+)`/g, (_, name: string) => flagOf(name));
  const own = `${parameter}: `;
  return new UsageError(
    `${flagOf(parameter)}: ${words.startsWith(own) ? words.slice(own.length) : words}`,
  );
}
