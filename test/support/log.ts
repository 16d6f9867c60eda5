/** A log that keeps its lines. */
import { createLog, type Log, type LogOptions } from '../../server/log.js';

/** @param lines gets each line, without its end */
export function logInto(lines: string[], options: LogOptions = {}): Log {
  const write = (text: string) => void lines.push(...text.split('\n').slice(0, -1));
  return createLog({ ...options, stream: { writableLength: 0, write } });
}

/** A log that nobody reads. */
export const NO_LOG = createLog({ stream: { writableLength: 0, write: () => undefined } });
