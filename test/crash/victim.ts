/**
 * A process to be killed. `hold DIR [TIME]` keeps a store open for commands, as a server does, and
 * has retention remove raw depth before a time; `commands DIR FILE` performs the operations of a
 * file one after the other, each like a separate command. Prints a line for each step: `opening`,
 * `ready`, `begin N AT`, `done N AT`; for each failure, `failed JSON`. AT is the system's monotonic
 * clock in microseconds, which processes share.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openForServer, withStore } from '../../storage/access.js';
import { sweepStaging } from '../../storage/bundle.js';
import { listenForCommands } from '../../storage/control.js';
import { StoreBusyError } from '../../storage/errors.js';
import { RetentionWorker } from '../../storage/retention.js';
import type { StoreOptions } from '../../storage/opening.js';
import type { Store } from '../../storage/store.js';
import { wallMs } from '../../storage/wall-clock.js';
import { storeOptions } from '../../server/cli/runtime.js';
import { ONE_THREAD } from '../walk/one-thread.js';
import { type Order, perform } from '../walk/perform.js';

/** For how long raw depth is kept. */
const KEPT_S = 3600;

/** A server that finds another one running retries within this time. */
const BUSY_MS = 100;

const [role, directory, text] = process.argv.slice(2);
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const nowUs = (): bigint => process.hrtime.bigint() / 1000n;
const failed = (error: unknown, n: number | null = null): void => {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  print(`failed ${JSON.stringify({ n, name, message, stack })}`);
};

/** Opens the store as a server does, and retries while another one runs, as a supervisor would. */
async function opened(options: StoreOptions): Promise<Store> {
  for (;;) {
    try {
      return await openForServer(directory, options);
    } catch (error) {
      if (!(error instanceof StoreBusyError && /already runs/.test(error.message))) throw error;
      print('busy');
      await sleep(BUSY_MS * Math.random());
    }
  }
}

async function hold(beforeS: number | null): Promise<void> {
  print('opening');
  const options = {
    ...storeOptions(ONE_THREAD),
    onFault: (error: unknown) => failed(error),
    onLost: (error: unknown) => {
      failed(error);
      process.exit(1);
    },
  };
  const store = await opened(options);
  await sweepStaging(directory, wallMs());
  await listenForCommands(directory, store, failed);
  print('ready');
  if (beforeS === null) return;
  new RetentionWorker({
    store,
    retention: { raw: KEPT_S },
    nowS: () => beforeS + KEPT_S,
    restShare: 0,
    newestT: () => null,
    allowedToS: () => Promise.resolve(Infinity),
    onWaiting: () => undefined,
    onResume: () => undefined,
    onRemoved: () => undefined,
    onError: (error) => failed(error),
  });
  while ((await store.tokensBefore({ raw: beforeS, '15m': 0, '1h': 0 })).length > 0) await sleep(2);
  print('retained');
}

async function command(order: Order): Promise<void> {
  print(`begin ${order.number} ${nowUs()}`);
  try {
    await perform(order, directory, ONE_THREAD, (body) =>
      withStore(directory, storeOptions(ONE_THREAD), body),
    );
    print(`done ${order.number} ${nowUs()}`);
  } catch (error) {
    failed(error, order.number);
  }
}

if (role === 'hold') {
  await hold(text === undefined ? null : Number(text)).catch((error: unknown) => {
    failed(error);
    process.exit(1);
  });
} else {
  const orders = JSON.parse(readFileSync(text, 'utf8')) as Order[];
  print('opening');
  for (const order of orders) await command(order);
}
