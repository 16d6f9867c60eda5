/** `fathom mcp`: lets assistants use a running server, by the Model Context Protocol. */
import type { Source } from '../../assistants/call.js';
import { UsageError } from '../../../storage/errors.js';
import { checkedKey, DEFAULT_URL, URL_FLAG } from '../api-client.js';
import { defineCommand } from '../command.js';
import { type Flags, type FlagValues, wholeNumber } from '../flags.js';
import { failureText, printNote } from '../output.js';
import { stopSignal } from '../signals.js';

const SDK = '@modelcontextprotocol/server';
const LOOPBACK = '127.0.0.1';

const FLAGS = {
  url: URL_FLAG,
  key: {
    placeholder: 'KEY',
    meaning:
      'the API key. Other users of the machine can read a command line: rather set the variable',
    variable: 'FATHOM_KEY',
    read: checkedKey,
  },
  http: {
    placeholder: 'PORT',
    meaning: 'serves over HTTP at /mcp of this port, instead of standard input and output',
    read: (text: string, from: string) => wholeNumber(text, from, 0, 65_535),
  },
  host: {
    placeholder: 'HOST',
    meaning: 'with --http: the address to listen on',
    default: LOOPBACK,
  },
  'allow-host': {
    placeholder: 'NAME',
    meaning:
      'with --http: a host name by which assistants may call, besides those of the loopback interface',
    repeated: true,
  },
} as const satisfies Flags;

export const command = defineCommand({
  about:
    'Lets assistants ask a running server: tools of the Model Context Protocol on standard input and output, which an assistant starts itself, or over HTTP. The tools only read. docs/assistants.md has the configuration of common assistants.',
  flags: FLAGS,
  examples: [
    'FATHOM_KEY=fathom_... fathom mcp --url http://127.0.0.1:8080',
    'FATHOM_KEY=fathom_... fathom mcp --http 8765',
  ],
  run: mcp,
});

async function mcp(flags: FlagValues<typeof FLAGS>): Promise<void> {
  const { url = DEFAULT_URL, key = null, http: port, host = LOOPBACK } = flags;
  const allowedHosts = flags['allow-host'] ?? [];
  const source: Source = { url, key };
  if (port === undefined) {
    for (const name of ['host', 'allow-host'] as const) {
      if (flags[name] !== undefined && flags[name].length > 0)
        throw new UsageError(`--${name}: needs --http`);
    }
  } else if (!isLoopback(host) && key !== null) {
    throw new UsageError(
      `--host: with ${host}, whoever reaches the port would use the key; leave FATHOM_KEY and --key out, and let each assistant send its own as x-api-key`,
    );
  }
  const report = (error: unknown): void => printNote(failureText(error));
  const stopped = stopSignal();
  if (port !== undefined) {
    const { serveOnHttp } = await optionalPart(() => import('../../assistants/http.js'));
    const serving = await serveOnHttp(source, { host, port, allowedHosts }, report);
    printNote(`fathom mcp: reads ${url}, and serves assistants at ${serving.url}`);
    await stopped;
    await serving.close();
    return;
  }
  const { serveOnStdio } = await optionalPart(() => import('../../assistants/stdio.js'));
  printNote(
    `fathom mcp: reads ${url}, and serves an assistant on standard input and output` +
      (key === null ? '; FATHOM_KEY is not set, and the server will refuse every request' : ''),
  );
  const ending = new AbortController();
  void stopped.then(() => ending.abort());
  await serveOnStdio(source, report, ending.signal);
}

function isLoopback(host: string): boolean {
  return ['localhost', '::1'].includes(host) || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** A module that needs the SDK. @throws UsageError if it is not installed */
async function optionalPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' || !message.includes(SDK)) throw error;
    throw new UsageError(
      `mcp needs the optional package ${SDK}, which is not installed; run npm ci --include=optional in Fathom's folder`,
    );
  }
}
