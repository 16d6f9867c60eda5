/** Signals that end a command: SIGTERM, SIGINT (Ctrl-C), and SIGHUP, which comes when a terminal is closed. */
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** Whether the command handles signals itself, with stopSignal(). */
let stopsItself = false;

/**
 * Calls `listener` at the first signal; a second one ends the process at once.
 * @returns a function that stops listening
 */
export function atSignal(listener: (signal: NodeJS.Signals) => void): () => void {
  const stop = (): void => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    stop();
    listener(signal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return stop;
}

/** Commands that run a server. */
export const SERVERS = ['serve', 'start'];

let stopEnding: () => void = () => undefined;

/** Lets a signal end a server that is still loading with status 0. Once it listens itself, stopSignal() takes over. */
export function endAtSignal(): void {
  stopEnding = atSignal(() => process.exit(0));
}

/** How often a command started by npx checks that npx still runs. */
const PARENT_POLL_MS = 250;

/**
 * Resolves at the first signal. Under npx it also resolves when the parent process ends: npx signals a shell,
 * which dies without passing the signal on, and the command would be orphaned.
 */
export function stopSignal(): Promise<void> {
  stopsItself = true;
  return new Promise((resolve) => {
    const parent = process.ppid;
    const isStartedByNpx = process.env.npm_command === 'exec';
    const watch = isStartedByNpx
      ? setInterval(() => {
          if (process.ppid !== parent) stop();
        }, PARENT_POLL_MS)
      : undefined;
    const stop = (): void => {
      clearInterval(watch);
      unlisten();
      resolve();
    };
    watch?.unref();
    const unlisten = atSignal(stop);
    stopEnding();
  });
}

/** Of the closingAtSignal() that runs; others within it end with it. */
let outerStop: AbortSignal | null = null;

/**
 * Runs `body`, which has a store open, or a temporary folder. At a signal `stop` aborts; once `body` has closed the
 * store, the signal ends the process.
 */
export async function closingAtSignal<T>(body: (stop?: AbortSignal) => Promise<T>): Promise<T> {
  if (stopsItself) return body();
  if (outerStop !== null) return body(outerStop);
  const ending = new AbortController();
  outerStop = ending.signal;
  let caught: NodeJS.Signals | null = null;
  const unlisten = atSignal((signal) => {
    caught = signal;
    ending.abort();
  });
  try {
    return await body(ending.signal);
  } finally {
    outerStop = null;
    unlisten();
    if (caught !== null) {
      process.kill(process.pid, caught);
      await new Promise(() => undefined);
    }
  }
}
