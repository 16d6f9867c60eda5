/** `fathom serve` */
import type { RunningServer } from '../../app.js';
import { createLogger, type Logger } from '../../logger.js';
import { startService } from '../../service.js';
import { defineCommand } from '../command.js';
import { reportCrashesWith } from '../output.js';
import { onStore } from '../runtime.js';
import { serveOptions, type ServeOptions } from '../serve-options.js';
import { SERVE_ENVIRONMENT, SERVE_FLAGS } from '../settings.js';
import { stopSignal } from '../signals.js';
import { unknownVariables } from '../variables.js';

export const FLAGS = SERVE_FLAGS;

export const command = defineCommand({
  about:
    'Runs the server until SIGTERM, SIGINT or SIGHUP. A flag overrides its variable, which overrides the config file; docs/settings.md has more about each setting.',
  flags: FLAGS,
  environment: SERVE_ENVIRONMENT,
  examples: [
    'fathom serve --data data --host 127.0.0.1 --port 8080',
    'fathom serve --data books --port 0 --as-of 2024-08-09T00:00:00Z --threads 2',
  ],
  run: (flags) => serve(serveOptions(flags)),
});

async function serve(options: ServeOptions): Promise<void> {
  await serveUntilSignal(options, async (_, logger, stopped) => {
    const { tokens } = await onStore({ data: options.directory }, (store) => store.summary());
    // A new store may be a mistyped directory.
    if (tokens === 0) logger.warn('the store is empty', { data: options.directory });
    await stopped;
  });
}

/**
 * Starts the server and runs `body`, which ends after a signal; then drains the server. A signal during the
 * start stops the server, too.
 */
export async function serveUntilSignal(
  options: ServeOptions,
  body: (service: RunningServer, logger: Logger, stopped: Promise<void>) => Promise<void>,
): Promise<void> {
  const ending = new AbortController();
  const stopped = stopSignal().then(() => ending.abort());
  const logger = createLogger(options.log);
  reportCrashesWith((error) => logger.fatal('the server crashed', error));
  try {
    for (const text of await unknownVariables(FLAGS)) logger.warn(text);
    const service = await startService(options, logger, ending.signal);
    await body(service, logger, stopped);
    await service.close();
  } catch (error) {
    // Stopped before it listened, so there is nothing to drain.
    if (!ending.signal.aborted || error !== ending.signal.reason) throw error;
  }
}
