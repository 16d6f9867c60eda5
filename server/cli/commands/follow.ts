/** `fathom follow TOKEN`: prints depth as it changes, from a running server. */
import { fathomClient, type LiveMessage, type NamedToken } from '../../../client/index.js';
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
import { InputError, UsageError } from '../../../storage/errors.js';
import { defineCommand } from '../command.js';
import { CursorFile, endsWithinLine } from '../cursor-file.js';
import type { Flags, FlagValues } from '../flags.js';
import { servedAddress, token } from '../named-token.js';
import { jsonText, printNote } from '../output.js';

/** Flags that are sent to the server. */
const PASSED_ON = {
  from: {
    placeholder: 'TIME',
    meaning: 'start of the history to send first',
    default: 'no history',
  },
  cursor: {
    placeholder: 'CURSOR',
    meaning: 'continues after the message with this cursor',
  },
  ...VIEW_FLAGS,
} as const satisfies Flags;

const FLAGS = {
  url: URL_FLAG,
  'cursor-file': {
    placeholder: 'FILE',
    meaning: 'keeps the cursor in this file, and continues where the run before ended',
    names: 'file',
  },
  ...PASSED_ON,
  onchain: ONCHAIN_FLAG,
  heartbeats: { meaning: 'prints heartbeats too' },
} as const satisfies Flags;

export const command = defineCommand({
  about:
    "Prints a token's depth as it changes, one JSON message per line, until it is interrupted: history from --from, then each new snapshot, and what was revised or deleted. It reconnects by itself, and with --cursor-file or --cursor continues where an earlier run ended.",
  words: { token: { read: token } },
  flags: FLAGS,
  environment: { FATHOM_KEY: 'the API key; no flag takes it' },
  examples: [
    'fathom follow So11111111111111111111111111111111111111112 --from -1h',
    'fathom follow mainchain:SOL --group venue --min-pct -2 --max-pct 2 --heartbeats',
    'fathom follow mainchain:SOL --from -7d --cursor-file sol.cursor >> sol.ndjson',
  ],
  run: (flags, words) => follow(words.token, flags),
});

async function follow(named: NamedToken, flags: FlagValues<typeof FLAGS>): Promise<void> {
  const { 'cursor-file': file, heartbeats } = flags;
  if (file !== undefined && flags.cursor !== undefined) {
    throw new UsageError('--cursor: cannot be combined with --cursor-file');
  }
  const client = fathomClient({
    url: flags.url ?? DEFAULT_URL,
    key: keyOf(),
    onWait: ({ message }) => printNote(message),
  });
  const readerGone = new AbortController();
  process.stdout.once('error', () => readerGone.abort());
  await interruptible(async (interrupt) => {
    const signal = AbortSignal.any([interrupt, readerGone.signal]);
    let kept: CursorFile | null = null;
    const printed = async (message: LiveMessage): Promise<void> => {
      await print(`${jsonText(message)}\n`, signal);
      if (message.type === 'heartbeat') await kept?.saveQuietly(message);
      else await kept?.save(message);
    };
    try {
      const address = await servedAddress(client, named, 'TOKEN', signal);
      const view = parametersOf(flags, Object.keys(VIEW_FLAGS));
      if (file !== undefined) {
        kept = await CursorFile.open(file, { address, parameters: view });
        if (await endsWithinLine()) await print('\n', signal);
      }
      const begin = beginning(flags, kept);
      const onCursor = (cursor: string, next_from: number) =>
        kept?.saveQuietly({ cursor, next_from });
      const options = { heartbeats, signal, onCursor };
      const interrupted = kept?.interrupted ?? null;
      if (interrupted !== null) await printed(interrupted);
      // The server checks them.
      for await (const message of client.follow(address, { ...view, ...begin }, options)) {
        await kept?.begin(message);
        await printed(message);
      }
    } catch (error) {
      // Ctrl-C and a reader that closes its end, such as `head`, are the normal ends of this command.
      if (!signal.aborted) throw ofCursorFile(namedFailure(error), kept, file);
    } finally {
      await kept?.release();
    }
  });
}

/** Where the subscription begins. */
function beginning(
  { from, cursor }: FlagValues<typeof FLAGS>,
  kept: CursorFile | null,
): { from?: string; cursor?: string } {
  if (kept === null || kept.cursor === null) return { from, cursor };
  if (from !== undefined) printNote('continues after the cursor file; --from is of its first run');
  return { cursor: kept.cursor };
}

/** Prints a text. Resolves once the system has all of it. @throws the signal's reason, also if it cannot be written */
async function print(text: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    process.stdout.write(text, (error) => {
      // An error is also an event, which aborts the signal.
      if (error) return;
      signal.removeEventListener('abort', abort);
      resolve();
    });
  });
}

/** Names the file instead of the flag `--cursor`, if the server refuses the file's cursor. */
function ofCursorFile(failure: unknown, kept: CursorFile | null, file = ''): unknown {
  if (kept === null || !(failure instanceof UsageError)) return failure;
  const reason = failure.message.replace(/^--cursor: /, '');
  if (reason === failure.message) return failure;
  return new InputError(`--cursor-file: ${file}: the server refuses its cursor: ${reason}`);
}
