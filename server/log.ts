/** The service's log: one line per event, `time=... level=... msg=... key=value ...`. */

import type { Writable } from 'node:stream';

export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /** Logs the stack of `error` on the same line. */
  error(message: string, fields?: LogFields, error?: unknown): void;
}

/** Longer values are cut off. */
const MAX_VALUE_CHARS = 4096;

/** Bytes of lines that wait for a reader of the log; further lines are dropped. */
export const MAX_UNREAD_LOG_BYTES = 2 ** 20;

/**
 * Writes lines to a stream that may be read slowly, or by nobody: beyond MAX_UNREAD_LOG_BYTES they are
 * dropped, which the first line after them says.
 */
export function lineWriter(stream: Writable): (line: string) => void {
  let dropped = 0;
  return (line) => {
    if (stream.writableLength > MAX_UNREAD_LOG_BYTES) {
      dropped++;
      return;
    }
    if (dropped > 0) stream.write(`${dropped} lines of the log were dropped: nobody read them\n`);
    dropped = 0;
    stream.write(line);
  };
}

/** @param write takes whole lines with their line ends; default: standard error */
export function createLog(write: (line: string) => void = lineWriter(process.stderr)): Log {
  const line = (level: string, message: string, fields: LogFields) => {
    const pairs = Object.entries({
      time: new Date().toISOString(),
      level,
      msg: message,
      ...fields,
    });
    write(pairs.map(([key, value]) => `${key}=${textOf(value)}`).join(' ') + '\n');
  };
  return {
    info: (message, fields = {}) => line('info', message, fields),
    warn: (message, fields = {}) => line('warn', message, fields),
    error: (message, fields = {}, error = undefined) =>
      line('error', message, error === undefined ? fields : { ...fields, error: stackOf(error) }),
  };
}

/** Bare if unambiguous, else a JSON string, which has no line breaks. */
function textOf(value: string | number | boolean | null): string {
  const text = String(value).slice(0, MAX_VALUE_CHARS);
  return /^[^\s"=\p{C}]+$/u.test(text) ? text : JSON.stringify(text);
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
