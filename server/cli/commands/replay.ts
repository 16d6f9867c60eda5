/** `fathom replay ADDRESS`: downloads depth history from a running server. */
import { UsageError } from '../../../storage/errors.js';
import { download, type DownloadResult, type ReplayState } from '../../client/download.js';
import { fetchPage, type RetryKind } from '../../client/fetch-page.js';
import { REPLAY_FORMATS, type ReplayFormat } from '../../client/formats.js';
import {
  baseUrl,
  checkedAddress,
  ReplayError,
  type ReplayParameters,
  type ReplayRequest,
} from '../../client/request.js';
import { readFlags } from '../flags.js';
import { count, printJson, Progress, tell } from '../output.js';

const DEFAULT_URL = 'http://127.0.0.1:8080';

const REPLAY_USAGE = `fathom replay ADDRESS --out FILE [--format ${REPLAY_FORMATS.join('|')}] [--url URL] [--from T] [--to T]
  [--group market|venue|type|all] [--types LIST] [--onchain] [--venues LIST] [--exclude-types LIST] [--exclude-venues LIST]
  [--min-pct N] [--max-pct N] [--force] [--restart] [--json]
  The key comes from FATHOM_KEY, the URL from --url, else FATHOM_URL, else ${DEFAULT_URL}.`;

export const command = { usage: REPLAY_USAGE, run: replay };

/** Text of the progress line while the server makes the client wait. */
const WAITS = { busy: 'waiting, replay is busy', limited: 'waiting for the rate limit' } as const;

/** @throws UsageError | ReplayError */
export async function replay(words: readonly string[]): Promise<void> {
  const options = replayOptions(words);
  const startedMs = performance.now();
  const result = await interruptible((signal) => run(options, signal));
  const seconds = (performance.now() - startedMs) / 1000;
  tell(resultText(options, result, seconds));
  if (options.json) printJson(jsonResult(options, result, seconds));
}

/** The first SIGINT or SIGTERM ends the command in order, a second one at once. */
async function interruptible<T>(body: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupt = new AbortController();
  const stop = (): void => {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
    interrupt.abort(new ReplayError('interrupted'));
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  try {
    return await body(interrupt.signal);
  } finally {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
  }
}

async function run(options: ReplayOptions, signal: AbortSignal): Promise<DownloadResult> {
  const { request, format, out, key, force, restart } = options;
  const progress = new Progress();
  let state: ReplayState | null = null;
  const onWait = (kind: RetryKind, text: string): void => {
    if (kind !== 'connection') {
      if (state !== null) progress.bar(share(state), `${progressText(state)}; ${WAITS[kind]}`);
      return;
    }
    progress.end();
    tell(text);
  };
  try {
    return await download({
      request,
      format,
      out,
      force,
      restart,
      fetchPage: (url) => fetchPage(url, { key, signal, onWait }),
      onProgress(now) {
        state = now;
        progress.bar(share(now), progressText(now));
      },
    });
  } catch (error) {
    // After the signal, any failure is its consequence.
    const cause: unknown = signal.aborted ? signal.reason : error;
    throw cause instanceof ReplayError ? withResumeHint(cause, state) : cause;
  } finally {
    progress.end();
  }
}

/** Adds how to resume, once there are pages to resume from. */
function withResumeHint(error: ReplayError, state: ReplayState | null): ReplayError {
  const { totals, rest } = state ?? { totals: null, rest: null };
  if (totals === null || rest === null || !error.resumable) return error;
  return new ReplayError(
    `${error.message}; ${count(totals.pages)} pages are kept, the same command goes on from ${iso(rest.from)}`,
  );
}

/** Downloaded share of the window's time. */
function share({ totals, rest, paged }: ReplayState): number {
  if (paged || totals === null || rest === null) return paged ? 1 : 0;
  const { from, to } = totals.head.window;
  return (rest.from - from) / (to - from);
}

function progressText({ totals, rest }: ReplayState): string {
  if (totals === null) return 'first page';
  const upTo = rest === null ? '' : `, up to ${iso(rest.from)}`;
  return `${count(totals.pages)} pages, ${count(totals.cells)} cells${upTo}`;
}

function resultText(
  { format, out }: ReplayOptions,
  { totals, resumedPages }: DownloadResult,
  seconds: number,
): string {
  const { pages, snapshots, cells, head } = totals;
  const notes = [
    ...(resumedPages === 0 ? [] : [`${count(resumedPages)} of the pages from an earlier run`]),
    ...(head.window.clamped ? ['the window was clamped to the last 365 days'] : []),
    ...(snapshots === 0 ? ['no snapshots in the window'] : []),
    ...(totals.venuesNotFound.length === 0
      ? []
      : [`venues not found: ${totals.venuesNotFound.join(', ')}`]),
  ];
  const noted = notes.length === 0 ? '' : ` (${notes.join('; ')})`;
  return `${out}: ${count(snapshots)} snapshots, ${count(cells)} cells of ${count(pages)} pages as ${format} in ${seconds.toFixed(1)} s${noted}`;
}

function jsonResult(
  { format, out }: ReplayOptions,
  { totals, bytes, resumedPages }: DownloadResult,
  seconds: number,
): object {
  const { head, pages, snapshots, cells } = totals;
  const { window } = head;
  return {
    out,
    format,
    bytes,
    token: head.token,
    ...(head.resolved_token === undefined ? {} : { resolved_token: head.resolved_token }),
    chain: head.chain,
    group: head.group,
    from: window.from,
    to: window.to,
    clamped: window.clamped,
    served_from: totals.servedFrom,
    served_to: totals.servedTo,
    venues_not_found: totals.venuesNotFound,
    pages,
    resumed_pages: resumedPages,
    snapshots,
    cells,
    seconds,
  };
}

function iso(epochSeconds: number): string {
  return new Date(epochSeconds * 1000).toISOString().replace('.000Z', 'Z');
}

/** Flags that are sent to the server, with underscores in their names; the server checks them. */
const PASSED_ON = [
  'group',
  'from',
  'to',
  'types',
  'venues',
  'exclude-types',
  'exclude-venues',
  'min-pct',
  'max-pct',
] as const;
/** Default of --format, by the ending of OUT. */
const FORMAT_OF_ENDING: Readonly<Record<string, ReplayFormat>> = {
  json: 'json',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  csv: 'csv',
  arrow: 'arrow',
  parquet: 'parquet',
};

export interface ReplayOptions {
  request: ReplayRequest;
  format: ReplayFormat;
  out: string;
  key: string;
  force: boolean;
  restart: boolean;
  json: boolean;
}

/** @throws UsageError */
export function replayOptions(words: readonly string[]): ReplayOptions {
  const { flags, rest } = readFlags(withNegativeNumbers(words), {
    ...(Object.fromEntries(PASSED_ON.map((name) => [name, 'text'])) as Record<
      (typeof PASSED_ON)[number],
      'text'
    >),
    url: 'text',
    format: 'text',
    out: 'text',
    onchain: 'switch',
    force: 'switch',
    restart: 'switch',
    json: 'switch',
  });
  const [address, ...others] = rest;
  if (address === undefined) throw new UsageError('ADDRESS: expected one');
  if (others.length > 0) throw new UsageError(`replay: unexpected ${others[0]}`);
  const parameters: Record<string, string> = flags.onchain ? { onchain: 'true' } : {};
  for (const name of PASSED_ON) {
    const value = flags[name];
    if (value !== undefined) parameters[name.replaceAll('-', '_')] = value;
  }
  const out = outOf(flags.out);
  const request = requestOf(address, flags.url, parameters);
  const { force, restart, json } = flags;
  return { request, format: formatOf(flags.format, out), out, key: keyOf(), force, restart, json };
}

/** Joins `--min-pct -60` into one word, since -60 would be taken for a flag. */
function withNegativeNumbers(words: readonly string[]): string[] {
  const joined: string[] = [];
  for (const word of words) {
    const before = joined.at(-1);
    const joins = before !== undefined && /^--(min|max)-pct$/.test(before) && /^-\.?\d/.test(word);
    if (joins) joined[joined.length - 1] = `${before}=${word}`;
    else joined.push(word);
  }
  return joined;
}

function requestOf(
  address: string,
  urlFlag: string | undefined,
  parameters: ReplayParameters,
): ReplayRequest {
  const url =
    urlFlag === undefined
      ? baseUrl(process.env.FATHOM_URL || DEFAULT_URL, 'FATHOM_URL')
      : baseUrl(urlFlag, '--url');
  return { url, address: checkedAddress(address), parameters };
}

function outOf(flag: string | undefined): string {
  if (flag !== undefined && flag !== '' && flag !== '-') return flag;
  throw new UsageError('--out: expected a file, beside which the parts of an interrupted run lie');
}

function formatOf(flag: string | undefined, out: string): ReplayFormat {
  const ending = /\.([^./]+)$/.exec(out)?.[1].toLowerCase() ?? '';
  const named = flag ?? FORMAT_OF_ENDING[ending];
  const format = REPLAY_FORMATS.find((known) => known === named);
  if (format !== undefined) return format;
  const told = flag === undefined ? '' : `, not ${flag}`;
  throw new UsageError(`--format: expected one of ${REPLAY_FORMATS.join(', ')}${told}`);
}

function keyOf(): string {
  const key = process.env.FATHOM_KEY?.trim() ?? '';
  if (key === '') throw new UsageError('FATHOM_KEY: expected the API key in this variable');
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new UsageError('FATHOM_KEY: expected an API key, this has characters that no key has');
}
