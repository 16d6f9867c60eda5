/** `fathom serve` */
import { startPool } from '../../../compute/pool.js';
import { openForServer } from '../../../storage/access.js';
import { sweepStaging } from '../../../storage/bundle/bundle.js';
import { listenForCommands } from '../../../storage/control/server.js';
import { UsageError } from '../../../storage/errors.js';
import { startServer, type RunningServer } from '../../app.js';
import { frozenClock, systemClock } from '../../clock.js';
import { createLog } from '../../log.js';
import { readFlags } from '../flags.js';
import { dataDirectory, instant, readConfig, setting, wholeNumber } from '../settings.js';
import { storeOptions } from '../store-access.js';

export const SERVE_USAGE =
  'fathom serve [--data DIR] [--host H] [--port P] [--as-of TIME] [--threads N]';

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 8080;
const MAX_PORT = 65_535;
const MAX_THREADS = 256;

export interface ServeOptions {
  directory: string;
  host: string;
  port: number;
  /** Epoch seconds at which the service's clock stands still; null: it runs. */
  asOfS: number | null;
  /** Worker threads; null: one a core. */
  threads: number | null;
}

/** @throws UsageError */
export function serveOptions(words: readonly string[]): ServeOptions {
  const { flags, rest } = readFlags(words, {
    data: 'text',
    host: 'text',
    port: 'text',
    'as-of': 'text',
    threads: 'text',
  });
  if (rest.length > 0) throw new UsageError(`serve: unexpected ${rest[0]}`);
  const config = readConfig();
  const host = setting('host', flags.host, config);
  const port = setting('port', flags.port, config);
  const asOf = setting('as-of', flags['as-of'], config);
  const threads = setting('threads', flags.threads, config);
  return {
    directory: dataDirectory(setting('data', flags.data, config)?.value),
    host: host?.value ?? DEFAULT_HOST,
    port: port === null ? DEFAULT_PORT : wholeNumber(port.value, port.from, 0, MAX_PORT),
    asOfS: asOf === null ? null : instant(asOf.value, asOf.from),
    threads: threads === null ? null : wholeNumber(threads.value, threads.from, 1, MAX_THREADS),
  };
}

/** Runs the server until SIGTERM or SIGINT, then drains. */
export async function serve(words: readonly string[]): Promise<void> {
  const service = await startService(serveOptions(words));
  await stopSignal();
  await service.close();
}

/**
 * Opens the store, starts the pool and the server, and listens for commands.
 * @throws InputError | StoreBusyError | Error where the port is in use
 */
export async function startService(options: ServeOptions): Promise<RunningServer> {
  const { directory, host, port, asOfS, threads } = options;
  const log = createLog();
  const onError = (message: string) => (error: unknown) => log.error(message, {}, error);
  const closing: (() => Promise<void>)[] = [];
  const closeAll = async (): Promise<void> => {
    for (const close of closing.splice(0).reverse()) await close();
  };
  try {
    const pool = await startPool({
      onError: onError('a worker failed'),
      ...(threads === null ? {} : { threads }),
    });
    closing.push(() => pool.close());
    const store = await openForServer(directory, storeOptions(pool));
    closing.push(() => store.close());
    await sweepStaging(directory, Date.now());
    const control = await listenForCommands(directory, store, onError('a command failed'));
    closing.push(() => control.close());
    const clock = asOfS === null ? systemClock : frozenClock(asOfS);
    const server = await startServer({
      depth: store.depth,
      keys: store.keys,
      pool,
      clock,
      host,
      port,
      log,
    });
    closing.push(() => server.close());
    return {
      url: server.url,
      port: server.port,
      close: async () => {
        await closeAll();
        log.info('stopped');
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** Resolves at the first SIGTERM or SIGINT; a second one ends the process at once. */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    const stop = (): void => {
      process.off('SIGTERM', stop);
      process.off('SIGINT', stop);
      resolve();
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
}
