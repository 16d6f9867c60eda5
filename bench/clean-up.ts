/** Undoes things when this process ends, however it ends: removes folders, ends processes. */
import { messageOf } from './errors.js';

/** Status of a process that was broken off, as shells have it for SIGINT. */
const BROKEN_OFF = 130;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const steps = new Set<() => void>();

/**
 * Has `step` done at this process' end, by a signal too; the last one first.
 *
 * Signals are handled only while there is something to undo: a handler waits for the event loop,
 * which kernels hold up, where a signal without one ends the process at once.
 * @param step synchronous; what it throws keeps no other from being done
 * @returns forgets the step: it was done, or needs no doing
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
  for (const signal of SIGNALS) process.on(signal, breakOff);
}

function unlisten(): void {
  process.off('exit', undo);
  for (const signal of SIGNALS) process.off(signal, breakOff);
}

function breakOff(): void {
  process.exit(BROKEN_OFF);
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

/** Lets the event loop take a turn, and with it a signal that has come meanwhile. */
export function turnOfLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
