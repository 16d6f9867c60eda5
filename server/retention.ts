/** Runs retention in a server: with its clock, and with lines about what it does. */
import { isoOf } from '../compute/time.js';
import type { Retention } from '../storage/depth/retention-steps.js';
import type { LogNode } from '../storage/log/node.js';
import { RetentionWorker } from '../storage/retention.js';
import { shellWord } from '../storage/shell-word.js';
import type { Store } from '../storage/store.js';
import type { Clock } from './clock.js';
import type { Logger } from './logger.js';
import type { LiveTokens } from './tokens/live-tokens.js';

/** Starts deleting depth by age. The log says when retention waits, and what an operator can do. */
export function startRetention({
  retention,
  store,
  node,
  tokens,
  clock,
  logger,
}: {
  retention: Retention;
  store: Store;
  /** The server's cluster node; null: a single server. */
  node: LogNode | null;
  tokens: Pick<LiveTokens, 'newestT'>;
  clock: Clock;
  logger: Logger;
}): RetentionWorker {
  return new RetentionWorker({
    retention,
    nowS: () => clock.nowS(),
    newestT: () => tokens.newestT(),
    store: {
      tokensBefore: (times) => store.tokensBefore(times),
      snapshotTimes: (key) => store.snapshotTimes(key),
      retire: (...step) => (node ?? store).retire(...step),
    },
    allowedToS: () => store.retentionAllowance(),
    ...(node === null ? {} : { clockDoubt: () => node.clockDoubt() }),
    onWaiting: ({ why, allowToS }) => {
      const command = `fathom retention --data ${shellWord(store.directory)} --allow ${isoOf(allowToS ?? 0)}`;
      logger.warn('retention waits', {
        why,
        ...(allowToS === null ? {} : { to_allow_it: command }),
      });
    },
    onResume: () => logger.info('retention resumes'),
    onRemoved: ({ snapshots, cells }) => logger.info('retention deleted', { snapshots, cells }),
    onError: (error, token) => logger.error('retention failed', { ...token }, error),
  });
}
