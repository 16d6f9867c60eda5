/** Frees the memory of large buffers at once. */
import { MessageChannel } from 'node:worker_threads';

/** Smaller buffers are left to V8: detaching one takes some microseconds. */
const LEAST_FREED_BYTES = 64 * 1024;

/** What is moved to a closed port is gone. Node 20 has no ArrayBuffer.prototype.transfer, which also detaches. */
const { port1: nowhere } = new MessageChannel();
nowhere.close();

/**
 * Frees the memory of bytes that nothing uses any more, where they fill their ArrayBuffer. V8 would
 * free it in a full collection, and make one for every few buffers of several megabytes: with Arrow pages of 6 MB that
 * took a fifth of a page's CPU time.
 */
export function freeMemory({ buffer, byteLength }: Uint8Array): void {
  if (byteLength < LEAST_FREED_BYTES || byteLength !== buffer.byteLength) return;
  if (buffer instanceof ArrayBuffer) nowhere.postMessage(null, [buffer]);
}
