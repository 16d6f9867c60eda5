/** Cleans up when this process ends, however it ends: removes folders, ends processes. */
import { messageOf } from './errors.js';

/** The exit status of an interrupted process, as in shells for SIGINT. */
const INTERRUPTED = 130;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const steps = new Set<() => void>();

/**
 * Runs `step` when this process ends, even by a signal; the last step runs first.
 *
 * Signals have handlers only while there are steps: a handler waits for the event loop, which
 * kernels block, while a signal without a handler ends the process at once.
 * @param step synchronous; the other steps run even if it throws
 * @returns a function that cancels the step
 */
export function onEnd(step: () => void): () => void {
  if (steps.size === 0) listen();
  steps.add(step);
  return () => {
    if (steps.delete(step) && steps.size === 0) unlisten();
  };
}

function listen(): void {
  process.once('exit', undo);
  for (const signal of SIGNALS) process.on(signal, interrupt);
}

function unlisten(): void {
  process.off('exit', undo);
  for (const signal of SIGNALS) process.off(signal, interrupt);
}

function interrupt(): void {
  process.exit(INTERRUPTED);
}

function undo(): void {
  for (const step of Array.from(steps).reverse()) {
    try {
      step();
    } catch (error) {
      process.stderr.write(`${messageOf(error)}\n`);
    }
  }
}

/** Yields to the event loop, so that pending signals are handled. */
export function turnOfLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
