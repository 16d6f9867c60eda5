/** A logger that keeps its lines. */
import { createLogger, type Logger, type LogOptions } from '../../server/logger.js';

/** @param lines gets each line, without its end */
export function loggerInto(lines: string[], options: LogOptions = {}): Logger {
  const write = (text: string) => void lines.push(...text.split('\n').slice(0, -1));
  return createLogger({ ...options, stream: { writableLength: 0, write } });
}

/** A logger whose lines nobody reads. */
export const NO_LOGGER = createLogger({ stream: { writableLength: 0, write: () => undefined } });
