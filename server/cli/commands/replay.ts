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
import { InputError, UsageError } from '../../../storage/errors.js';
import { download, type DownloadResult, type ReplayState } from '../../download/download.js';
import { downloadSeveral } from '../../download/several.js';
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
import { counted, PartlyDone, printJson, ProgressLine, printNote } from '../output.js';
import { jsonResult, progressText, resultText, severalText, share } from '../replay-report.js';

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
  out: {
    placeholder: 'FILE',
    meaning: 'file to write; of several tokens, the folder for their files',
    needed: true,
    names: 'file',
    read: outOf,
  },
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
    'Downloads a window of depth history from a running server, page by page, into one file, which appears when it is complete, or several tokens into a folder, a file each. If it ends early, the same command resumes it.',
  words: { token: { read: token, repeated: true } },
  flags: FLAGS,
  environment: { FATHOM_KEY: 'the API key; no flag takes it' },
  examples: [
    'fathom replay So11111111111111111111111111111111111111112 --out sol.parquet',
    'fathom replay So11111111111111111111111111111111111111112 --out week.ndjson --from 2026-11-13T00:00:00Z --to 2026-11-20T00:00:00Z --types cex_spot,cex_perp --min-pct -10 --max-pct 10',
    'fathom replay mainchain:SOL WETH TIDE --out depth --format parquet --from -7d',
    'fathom replay mainchain:SOL --out total.csv --group all --url http://127.0.0.1:8081 --force --json',
  ],
  run: (flags, words) => replay(words.token, flags),
});

/** Texts of the progress line while the client waits for the server. */
const WAITS = { busy: 'waiting, replay is busy', limited: 'waiting for the rate limit' } as const;

async function replay(
  tokens: readonly NamedToken[],
  flags: FlagValues<typeof FLAGS>,
): Promise<void> {
  const given = replayOptions(flags);
  await interruptible((signal) => new Session(given, signal).run(tokens));
}

/** One run of the command: all of its requests share the client, and so the waits for limits. */
class Session {
  private readonly client: FathomClient;
  private readonly progress = new ProgressLine();
  private readonly startedMs = performance.now();
  /** Of the token that is downloaded. */
  private state: ReplayState | null = null;
  /** Precedes its progress. */
  private place = '';
  private requests = 0;

  constructor(
    private readonly given: Given,
    private readonly signal: AbortSignal,
  ) {
    this.client = fathomClient({
      url: given.url,
      key: given.key,
      onWait: (wait) => this.showWait(wait),
      onReply: (_, status) => (this.requests += Number(status === 200)),
    });
  }

  async run(tokens: readonly NamedToken[]): Promise<void> {
    const names = new Map<string, string>();
    for (const one of tokens) {
      const address = await this.failing(servedAddress(this.client, one, 'TOKEN', this.signal));
      if (!names.has(address)) names.set(address, 'address' in one ? address : one.symbol);
    }
    if (tokens.length > 1) return this.several(names);
    const [address] = names.keys();
    const { given } = this;
    const result = await this.download({ ...given, address });
    printNote(resultText(given, result, this.seconds));
    if (given.json) printJson(jsonResult(given, result, this.seconds));
  }

  /** @param names by address, as the user named the tokens */
  private async several(names: ReadonlyMap<string, string>): Promise<void> {
    const { given } = this;
    const addresses = [...names.keys()];
    const outcomes = await downloadSeveral({
      ...given,
      addresses,
      downloadOne: async (one) => {
        const name = names.get(one.address) ?? '';
        this.place = `${addresses.indexOf(one.address) + 1} of ${addresses.length}, ${name}: `;
        const result = await this.download({ ...given, ...one }).catch((error: unknown) => {
          throw error instanceof ReplayError ? error.about(name) : error;
        });
        printNote(resultText({ ...given, ...one }, result, this.seconds));
        return result;
      },
    });
    printNote(`${given.out}: ${severalText(outcomes)}; ${counted(this.requests, 'request')}`);
    const document = {
      out: given.out,
      format: given.format,
      requests: this.requests,
      seconds: this.seconds,
      tokens: outcomes.map(({ address, out, result }) =>
        result instanceof ReplayError
          ? { token: address, error: result.message }
          : result === 'earlier'
            ? { token: address, out }
            : jsonResult({ ...given, out }, result),
      ),
    };
    const empty = outcomes.flatMap(({ result }) =>
      result instanceof ReplayError ? [result.message] : [],
    );
    if (empty.length > 0) throw new PartlyDone(new InputError(empty.join('\n'), empty), document);
    if (given.json) printJson(document);
  }

  private get seconds(): number {
    return (performance.now() - this.startedMs) / 1000;
  }

  private async download(options: ReplayOptions): Promise<DownloadResult> {
    const { client, progress, signal } = this;
    const { url, address, parameters } = options;
    this.state = null;
    try {
      return await download({
        ...options,
        request: { url, address, parameters },
        pages: (rest) => checkedPages(client, options, rest, signal),
        coverage: () => client.getCoverage({ address }, { signal }).then(coverageText, () => ''),
        onProgress: (now) => {
          this.state = now;
          progress.bar(share(now), `${this.place}${progressText(now)}`);
        },
      });
    } catch (error) {
      const cause = this.causeOf(error);
      throw cause instanceof ReplayError ? withResumeHint(cause, this.state) : cause;
    } finally {
      progress.end();
    }
  }

  private async failing<T>(work: Promise<T>): Promise<T> {
    return work.catch((error: unknown) => {
      throw this.causeOf(error);
    });
  }

  /** A failure after the signal is a consequence of it. */
  private causeOf(error: unknown): unknown {
    return this.signal.aborted ? this.signal.reason : namedFailure(error);
  }

  private showWait({ kind, message }: Wait): void {
    const { state, progress, place } = this;
    if (kind !== 'connection') {
      if (state === null) return;
      progress.bar(share(state), `${place}${progressText(state)}; ${WAITS[kind]}`);
      return;
    }
    progress.end();
    printNote(message);
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
  { url, address, parameters, ahead }: ReplayOptions,
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
  address: string;
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
