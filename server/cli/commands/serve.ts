/** `fathom serve` */
import path from 'node:path';
import { startPool } from '../../../compute/pool.js';
import { LOCK_WAIT_MS, openForServer } from '../../../storage/access.js';
import { sweepStaging } from '../../../storage/bundle/bundle.js';
import { listenForCommands } from '../../../storage/control/server.js';
import { UsageError } from '../../../storage/errors.js';
import { DEFAULT_EVM_CHAIN_ID } from '../../api/chain.js';
import { startServer, type RunningServer } from '../../app.js';
import { frozenClock, systemClock } from '../../clock.js';
import { flowHandlers } from '../../orders/handlers.js';
import { OrderFlow } from '../../orders/order-flow.js';
import { holderHandlers } from '../../holders/handlers.js';
import { HolderFlows } from '../../holders/holder-flows.js';
import { Limiter } from '../../limits/limiter.js';
import { lpHandlers } from '../../lp/lp-handlers.js';
import { LpTools } from '../../lp/lp-tools.js';
import { parsePlans } from '../../limits/plan-settings.js';
import { DEFAULT_PLANS, type Plans } from '../../limits/plans.js';
import { createLog } from '../../log.js';
import type { NativeCurrency } from '../../depth/depth-handler.js';
import { marketHandlers } from '../../tokens/handlers.js';
import { Market } from '../../tokens/market.js';
import {
  FRAGMENTS_FOLDER,
  Fragments,
  type FragmentLimits,
} from '../../replay/fragments/fragments.js';
import { columnBytes, fragmentLimits } from '../page-limits.js';
import { SegmentColumns } from '../../replay/segment-columns.js';
import { putLoopFirst } from '../../thread-priority.js';
import { nativeCurrency } from '../native-currency.js';
import { quoteTokens } from '../quote-tokens.js';
import { readFlags } from '../flags.js';
import { dataDirectory, instant, readConfig, setting, wholeNumber } from '../settings.js';
import { stopSignal } from '../stop-signal.js';
import { storeOptions } from '../store-access.js';

export const SERVE_USAGE =
  'fathom serve [--data DIR] [--host H] [--port P] [--as-of TIME] [--threads N] [--native-code C] [--native-mint M] [--quote-tokens M,M] [--evm-chain-id N] [--fragments-memory-mib N] [--fragments-disk-mib N] [--columns-memory-mib N]';

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 8080;
const MAX_PORT = 65_535;
const MAX_THREADS = 256;
const MAX_EVM_CHAIN_ID = 2 ** 48;

export interface ServeOptions {
  directory: string;
  host: string;
  port: number;
  /** Epoch seconds at which the service's clock stands still; null: it runs. */
  asOfS: number | null;
  /** Worker threads; null: one a core. */
  threads: number | null;
  plans: Plans;
  native: NativeCurrency;
  /** Mints that are the quote side of a pool, the one that is it before all others first. */
  quotes: readonly string[];
  /** Numeric id of the EVM chain. */
  evmChainId: number;
  fragments: FragmentLimits;
  /** Memory for segments' columns. */
  columnBytes: number;
}

/** @throws UsageError */
export function serveOptions(words: readonly string[]): ServeOptions {
  const { flags, rest } = readFlags(words, {
    data: 'text',
    host: 'text',
    port: 'text',
    'as-of': 'text',
    threads: 'text',
    'native-code': 'text',
    'native-mint': 'text',
    'quote-tokens': 'text',
    'evm-chain-id': 'text',
    'fragments-memory-mib': 'text',
    'fragments-disk-mib': 'text',
    'columns-memory-mib': 'text',
  });
  if (rest.length > 0) throw new UsageError(`serve: unexpected ${rest[0]}`);
  const config = readConfig();
  const host = setting('host', flags.host, config);
  const port = setting('port', flags.port, config);
  const asOf = setting('as-of', flags['as-of'], config);
  const threads = setting('threads', flags.threads, config);
  const plans = setting('plans', undefined, config);
  const nativeCode = setting('native-code', flags['native-code'], config);
  const nativeMint = setting('native-mint', flags['native-mint'], config);
  const quotes = setting('quote-tokens', flags['quote-tokens'], config);
  const evmChainId = setting('evm-chain-id', flags['evm-chain-id'], config);
  const fragmentsMemory = setting('fragments-memory-mib', flags['fragments-memory-mib'], config);
  const fragmentsDisk = setting('fragments-disk-mib', flags['fragments-disk-mib'], config);
  const columnsMemory = setting('columns-memory-mib', flags['columns-memory-mib'], config);
  const native = nativeCurrency(nativeCode, nativeMint);
  return {
    directory: dataDirectory(setting('data', flags.data, config)?.value),
    host: host?.value ?? DEFAULT_HOST,
    port: port === null ? DEFAULT_PORT : wholeNumber(port.value, port.from, 0, MAX_PORT),
    asOfS: asOf === null ? null : instant(asOf.value, asOf.from),
    threads: threads === null ? null : wholeNumber(threads.value, threads.from, 1, MAX_THREADS),
    plans: plans === null ? DEFAULT_PLANS : parsePlans(plans.value, plans.from),
    native,
    quotes: quoteTokens(quotes, native.mint),
    fragments: fragmentLimits(fragmentsMemory, fragmentsDisk),
    columnBytes: columnBytes(columnsMemory),
    evmChainId:
      evmChainId === null
        ? DEFAULT_EVM_CHAIN_ID
        : wholeNumber(evmChainId.value, evmChainId.from, 1, MAX_EVM_CHAIN_ID),
  };
}

/** Runs the server until SIGTERM or SIGINT, then drains. */
export async function serve(words: readonly string[]): Promise<void> {
  const options = serveOptions(words);
  const ending = new AbortController();
  const stopped = stopSignal().then(() => ending.abort());
  try {
    const service = await startService(options, ending.signal);
    await stopped;
    await service.close();
  } catch (error) {
    // Stopped before it listened: there is nothing to drain.
    if (!ending.signal.aborted || error !== ending.signal.reason) throw error;
  }
}

/**
 * Opens the store, starts the pool and the server, and listens for commands.
 * @param stop gives a start up that still waits for the store
 * @throws InputError | StoreBusyError | Error where the port is in use
 */
export async function startService(
  options: ServeOptions,
  stop?: AbortSignal,
): Promise<RunningServer> {
  const { directory, host, port, asOfS, threads, plans, native, quotes, evmChainId } = options;
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
    const store = await openForServer(directory, storeOptions(pool), LOCK_WAIT_MS, stop);
    closing.push(() => store.close());
    await sweepStaging(directory, Date.now());
    const clock = asOfS === null ? systemClock : frozenClock(asOfS);
    const market = new Market({ source: store.market, pool, clock, log });
    closing.push(() => market.close());
    const folder = path.join(directory, FRAGMENTS_FOLDER);
    const fragments = new Fragments({
      pool,
      depth: store.depth,
      log,
      directory: folder,
      limits: options.fragments,
    });
    closing.push(() => fragments.close());
    const orders = new OrderFlow({ source: store.orders, market, pool, clock, log });
    closing.push(() => orders.close());
    const holderFlows = new HolderFlows({ source: store.holders, pool, clock, log });
    closing.push(() => holderFlows.close());
    const lp = new LpTools({
      source: store.lp,
      depth: store.depth,
      market,
      pool,
      clock,
      log,
      quotes,
    });
    closing.push(() => lp.close());
    store.onChange((change) => {
      market.touch(change.tokenIds);
      lp.change(change);
      orders.touch(change);
      holderFlows.touch(change.holderTokens);
    });
    const control = await listenForCommands(directory, store, onError('a command failed'));
    closing.push(() => control.close());
    await market.start();
    await orders.start();
    // Not awaited: requests that come before the first boards wait for them.
    lp.start();
    putLoopFirst();
    const server = await startServer({
      depth: store.depth,
      keys: store.keys,
      market: marketHandlers({
        market,
        queue: store.queue,
        log,
        native,
        isDelayed: ({ tier }) => plans[tier].delayedDepth === true,
      }),
      flow: flowHandlers({ market, orders, clock }),
      lp: lpHandlers({ lp, state: market.state, quotes }),
      holders: holderHandlers(holderFlows),
      evmChainId,
      checkPlan: new Limiter({ usage: store.usage, plans }).check,
      pool,
      fragments,
      columns: new SegmentColumns(store.depth, options.columnBytes),
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
