/** `fathom replay TOKEN`: downloads depth history from a running server. */
import {
  type Coverage,
  DEFAULT_AHEAD,
  type FathomClient,
  fathomClient,
  MAX_AHEAD,
  type NamedToken,
  type Wait,
} from '../../../client/index.js';
import { isoOf } from '../../../compute/time.js';
import { UsageError } from '../../../storage/errors.js';
import { download, type DownloadResult, type ReplayState } from '../../download/download.js';
import { REPLAY_FORMATS, type ReplayFormat } from '../../download/formats.js';
import { checkedPage, PageFault, type RemotePage } from '../../download/page.js';
import {
  ReplayError,
  type DownloadRequest,
  type RequestedParameters,
  type Rest,
} from '../../download/request.js';
import { STEP_NAMES } from '../../replay/parameters.js';
import {
  DEFAULT_URL,
  interruptible,
  keyOf,
  namedFailure,
  ONCHAIN_FLAG,
  parametersOf,
  URL_FLAG,
  VIEW_FLAGS,
} from '../api-client.js';
import { defineCommand } from '../command.js';
import { type Flags, type FlagValues, JSON_OUTPUT, wholeNumber } from '../flags.js';
import { servedAddress, token } from '../named-token.js';
import { count, counted, printJson, ProgressLine, printNote } from '../output.js';

const { group, ...VIEW } = VIEW_FLAGS;
/** Flags that are sent to the server, with underscores in their names; the server checks them. */
const PASSED_ON = {
  group,
  from: {
    placeholder: 'TIME',
    meaning: 'start of the window',
    default: 'a day before its end',
  },
  to: { placeholder: 'TIME', meaning: 'end of the window', default: 'now' },
  step: {
    placeholder: 'STEP',
    meaning: 'only the newest snapshot of each step',
    default: 'every snapshot',
    values: STEP_NAMES,
  },
  ...VIEW,
} as const satisfies Flags;

const FLAGS = {
  out: { placeholder: 'FILE', meaning: 'file to write', needed: true, names: 'file', read: outOf },
  format: {
    placeholder: 'FORMAT',
    meaning: 'format of the file',
    default: "by the file's extension",
    values: REPLAY_FORMATS,
  },
  url: URL_FLAG,
  ...PASSED_ON,
  onchain: ONCHAIN_FLAG,
  ahead: {
    placeholder: 'N',
    meaning: `pages fetched at the same time, up to ${MAX_AHEAD}`,
    default: String(DEFAULT_AHEAD),
    read: (text: string, from: string) => wholeNumber(text, from, 1, MAX_AHEAD),
  },
  force: { meaning: 'replaces an existing file' },
  restart: { meaning: 'discards the pages of an interrupted run' },
  json: JSON_OUTPUT,
} as const satisfies Flags;

export const command = defineCommand({
  about:
    'Downloads a window of depth history from a running server, page by page, into one file, which appears when it is complete. If it ends early, the same command resumes it.',
  words: { token: { read: token } },
  flags: FLAGS,
  environment: { FATHOM_KEY: 'the API key; no flag takes it' },
  examples: [
    'fathom replay So11111111111111111111111111111111111111112 --out sol.parquet',
    'fathom replay So11111111111111111111111111111111111111112 --out week.ndjson --from 2026-11-13T00:00:00Z --to 2026-11-20T00:00:00Z --types cex_spot,cex_perp --min-pct -10 --max-pct 10',
    'fathom replay mainchain:SOL --out total.csv --group all --url http://127.0.0.1:8081 --force --json',
  ],
  run: (flags, words) => replay(words.token, flags),
});

/** Texts of the progress line while the client waits for the server. */
const WAITS = { busy: 'waiting, replay is busy', limited: 'waiting for the rate limit' } as const;

async function replay(named: NamedToken, flags: FlagValues<typeof FLAGS>): Promise<void> {
  const given = replayOptions(flags);
  const startedMs = performance.now();
  const { options, result } = await interruptible(async (signal) => {
    const client = fathomClient({
      url: given.url,
      key: given.key,
      onWait: ({ message }) => printNote(message),
    });
    const address = await servedAddress(client, named, 'TOKEN', signal).catch((error: unknown) => {
      throw signal.aborted ? signal.reason : namedFailure(error);
    });
    const { url, parameters } = given;
    const options = { ...given, request: { url, address, parameters } };
    return { options, result: await run(options, signal) };
  });
  const seconds = (performance.now() - startedMs) / 1000;
  printNote(resultText(options, result, seconds));
  if (options.json) printJson(jsonResult(options, result, seconds));
}

async function run(options: ReplayOptions, signal: AbortSignal): Promise<DownloadResult> {
  const { request, format, out, key, force, restart } = options;
  const progress = new ProgressLine();
  let state: ReplayState | null = null;
  const onWait = ({ kind, message }: Wait): void => {
    if (kind !== 'connection') {
      if (state !== null) progress.bar(share(state), `${progressText(state)}; ${WAITS[kind]}`);
      return;
    }
    progress.end();
    printNote(message);
  };
  const client = fathomClient({ url: request.url, key, onWait });
  const coverage = async (): Promise<string> => {
    const { address } = request;
    return client.getCoverage({ address }, { signal }).then(coverageText, () => '');
  };
  try {
    return await download({
      request,
      format,
      out,
      force,
      restart,
      pages: (rest) => checkedPages(client, options, rest, signal),
      coverage,
      onProgress(now) {
        state = now;
        progress.bar(share(now), progressText(now));
      },
    });
  } catch (error) {
    // A failure after the signal is a consequence of it.
    const cause: unknown = signal.aborted ? signal.reason : namedFailure(error);
    throw cause instanceof ReplayError ? withResumeHint(cause, state) : cause;
  } finally {
    progress.end();
  }
}

/** The stored history of a token, for a download whose window holds no snapshot. */
function coverageText({ tiers }: Coverage): string {
  if (tiers.length === 0) return 'the server has no depth of this token';
  const firstT = Math.min(...tiers.map((tier) => tier.first_t));
  const lastT = Math.max(...tiers.map((tier) => tier.last_t));
  return `there are snapshots from ${isoOf(firstT)} to ${isoOf(lastT)}`;
}

async function* checkedPages(
  client: FathomClient,
  { request: { url, address, parameters }, ahead }: ReplayOptions,
  rest: Rest | null,
  signal: AbortSignal,
): AsyncGenerator<RemotePage> {
  // The server checks them.
  const requested = { ...parameters, ...rest } as RequestedParameters;
  for await (const page of client.replay(address, requested, { ahead, signal })) {
    try {
      yield checkedPage(page);
    } catch (error) {
      if (!(error instanceof PageFault)) throw error;
      throw new ReplayError(`${url} did not reply with a replay page: ${error.message}`);
    }
  }
}

/** Adds how to resume, once there are pages to resume from. */
function withResumeHint(error: ReplayError, state: ReplayState | null): ReplayError {
  const { totals, rest } = state ?? { totals: null, rest: null };
  if (totals === null || rest === null || !error.resumable) return error;
  return new ReplayError(
    `${error.message}; ${counted(totals.pages, 'page')} ${totals.pages === 1 ? 'is' : 'are'} kept; the same command resumes from ${isoOf(rest.from)}`,
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
  const upTo = rest === null ? '' : `, up to ${isoOf(rest.from)}`;
  return `${counted(totals.pages, 'page')}, ${counted(totals.cells, 'cell')}${upTo}`;
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
    ...(totals.venuesNotFound.length === 0
      ? []
      : [`venues not found: ${totals.venuesNotFound.join(', ')}`]),
  ];
  const noted = notes.length === 0 ? '' : ` (${notes.join('; ')})`;
  return `${out}: ${counted(snapshots, 'snapshot')}, ${counted(cells, 'cell')} of ${counted(pages, 'page')} as ${format} in ${seconds.toFixed(1)} s${noted}`;
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

/** Default of --format, by the extension of OUT. */
const FORMAT_OF_EXTENSION: Readonly<Partial<Record<string, ReplayFormat>>> = {
  json: 'json',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  csv: 'csv',
  arrow: 'arrow',
  parquet: 'parquet',
};

interface ReplayOptions extends Given {
  request: DownloadRequest;
}

interface Given extends Omit<DownloadRequest, 'address'> {
  format: ReplayFormat;
  out: string;
  key: string;
  ahead: number;
  force: boolean;
  restart: boolean;
  json: boolean;
}

function replayOptions(flags: FlagValues<typeof FLAGS>): Given {
  const parameters = parametersOf(flags, Object.keys(PASSED_ON));
  const { url = DEFAULT_URL, out, ahead = DEFAULT_AHEAD, force, restart, json } = flags;
  const format = formatOf(flags.format, out);
  return { url, parameters, format, out, key: keyOf(), ahead, force, restart, json };
}

function outOf(text: string, from: string): string {
  if (text !== '-') return text;
  throw new UsageError(`${from}: expected the name of a file`);
}

function formatOf(flag: ReplayFormat | undefined, out: string): ReplayFormat {
  const extension = /\.([^./]+)$/.exec(out)?.[1].toLowerCase() ?? '';
  const format = flag ?? FORMAT_OF_EXTENSION[extension];
  if (format !== undefined) return format;
  throw new UsageError(`--format: expected one of ${REPLAY_FORMATS.join(', ')}`);
}
