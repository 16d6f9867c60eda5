/** `fathom follow TOKEN`: prints depth as it changes, from a running server. */
import { once } from 'node:events';
import { fathomClient, type NamedToken } from '../../../client/index.js';
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
import type { Flags, FlagValues } from '../flags.js';
import { servedAddress, token } from '../named-token.js';
import { printNote } from '../output.js';

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
  ...PASSED_ON,
  onchain: ONCHAIN_FLAG,
  heartbeats: { meaning: 'prints heartbeats too' },
} as const satisfies Flags;

export const command = defineCommand({
  about:
    "Prints a token's depth as it changes, one JSON message per line, until it is interrupted: history from --from, then each new snapshot, and what was revised or deleted. It reconnects by itself, and with --cursor continues where an earlier run ended.",
  words: { token: { read: token } },
  flags: FLAGS,
  environment: { FATHOM_KEY: 'the API key; no flag takes it' },
  examples: [
    'fathom follow So11111111111111111111111111111111111111112 --from -1h',
    'fathom follow mainchain:SOL --group venue --min-pct -2 --max-pct 2 --heartbeats',
  ],
  run: (flags, words) => follow(words.token, flags),
});

async function follow(named: NamedToken, flags: FlagValues<typeof FLAGS>): Promise<void> {
  const parameters = parametersOf(flags, Object.keys(PASSED_ON));
  const client = fathomClient({
    url: flags.url ?? DEFAULT_URL,
    key: keyOf(),
    onWait: ({ message }) => printNote(message),
  });
  const readerGone = new AbortController();
  process.stdout.once('error', () => readerGone.abort());
  await interruptible(async (interrupt) => {
    const signal = AbortSignal.any([interrupt, readerGone.signal]);
    const { heartbeats } = flags;
    try {
      const address = await servedAddress(client, named, 'TOKEN', signal);
      // The server checks them.
      for await (const message of client.follow(address, parameters, {
        heartbeats,
        signal,
      })) {
        if (process.stdout.write(`${JSON.stringify(message)}\n`)) continue;
        await once(process.stdout, 'drain', { signal });
      }
    } catch (error) {
      // Ctrl-C and a reader that closes its end, such as `head`, are the normal ends of this command.
      if (!signal.aborted) throw namedFailure(error);
    }
  });
}
