/** The logger: one JSON object per line, or text for people. Only this module imports pino. */
import { createRequire } from 'node:module';
import type { Writable } from 'node:stream';
import { pino } from 'pino';
import type * as Pretty from 'pino-pretty';
import { isDamage } from '../compute/damage.js';
import { wallMs } from '../storage/wall-clock.js';
import { Repeats } from './logger-repeats.js';

/** docs/operating.md describes the levels. */
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export const LOG_FORMATS = ['json', 'pretty'] as const;
type LogFormat = (typeof LOG_FORMATS)[number];

export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

export interface Logger {
  /** The process ends because of it. */
  fatal(message: string, error: unknown): void;
  /** Something was not done; the line has the stack of `error`. One line a cause and minute. */
  error(message: string, fields?: LogFields, error?: unknown): void;
  /** An operator should know. */
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  /** Logs an event that clients can cause at will: MAX_LINES_OF_ONE_EVENT of a message a minute. */
  atWill(level: 'warn' | 'info', message: string, fields?: LogFields): void;
  /** Logs at `info` at any level: programs that start the server wait for this line. */
  always(message: string, fields: LogFields): void;
  /**
   * Logs frequent events at `info`: a line waits up to GATHER_MS for others.
   * @param fields as JSON, without the braces around them: frequent callers can write them cheaply
   */
  often(message: string, fields: string): void;
}

export interface LogOptions {
  level?: LogLevel;
  format?: LogFormat;
  /** Default: standard error. */
  stream?: LogStream;
}

/** The destination of lines: a stream that may be read slowly or not at all, or may not be writable. */
type LogStream = Pick<Writable, 'writableLength'> & { write(text: string): unknown };

/** Lines a minute of an event that clients can cause at will. */
export const MAX_LINES_OF_ONE_EVENT = 100;
/** Fields of an error's line that differ from request to request. */
const FIELDS_OF_A_REQUEST: readonly string[] = ['request_id', 'path'];
/** Longer texts of a line are cut off. */
const MAX_VALUE_CHARS = 4096;
/** Bytes of lines that wait for a reader; further lines are dropped. */
export const MAX_UNREAD_LOG_BYTES = 2 ** 20;
/** Frequent lines are written after this time, or once they have this length. */
const GATHER_MS = 10;
const GATHERED_CHARS = 16 * 1024;

export function createLogger(options: LogOptions = {}): Logger {
  const { level = 'info', format = 'json', stream = process.stderr } = options;
  const lines = new LineWriter(stream, (count) =>
    logger.warn({ count }, 'lines of the log were dropped: nobody read them'),
  );
  const shape = format === 'json' ? (line: string) => line : prettyLines(stream);
  const timestamp = timestamps();
  const logger = pino(
    {
      level,
      base: null,
      formatters: { level: (label) => ({ level: label }) },
      timestamp,
      serializers: { err: errorFields },
    },
    { write: (line: string) => lines.write(shape(line)) },
  );
  const unfiltered = logger.child({}, { level: 'info' });
  const leftOut = (name: LogLevel, message: string) =>
    new Repeats((left) => {
      logger[name](bounded({ ...left }), message);
      lines.flush();
    });
  const events = leftOut('warn', 'lines of the log were left out');
  const errors = leftOut('error', 'errors were left out');
  const at =
    (name: LogLevel) =>
    (message: string, fields: LogFields = {}) => {
      if (!logger.isLevelEnabled(name)) return;
      logger[name](bounded(fields), message);
      lines.flush();
    };
  return {
    fatal(message, error) {
      logger.fatal({ err: error }, message);
      lines.flush();
    },
    error(message, fields = {}, error) {
      if (!logger.isLevelEnabled('error')) return;
      if (!errors.take(causeOf(message, fields, error), message, 1)) return;
      const err = error === undefined ? {} : { err: error };
      logger.error({ ...bounded(fields), ...err }, message);
      lines.flush();
    },
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    atWill(name, message, fields = {}) {
      if (!logger.isLevelEnabled(name)) return;
      if (!events.take(message, message, MAX_LINES_OF_ONE_EVENT)) return;
      logger[name](bounded(fields), message);
      lines.flush();
    },
    always(message, fields) {
      unfiltered.info(fields, message);
      lines.flush();
    },
    often(message, fields) {
      if (!logger.isLevelEnabled('info')) return;
      // The same line by pino takes several times as long.
      lines.write(shape(`{"level":"info"${timestamp()},${fields},"msg":"${message}"}\n`));
    },
  };
}

/**
 * Gathers lines and writes them to a stream. Beyond MAX_UNREAD_LOG_BYTES that wait there, lines are dropped, and their
 * number is logged once there is room. pino's own asynchronous destination would block one of Node's threads in a write
 * to a pipe that nobody reads, and with it the end of the process.
 */
class LineWriter {
  private gathered = '';
  private dropped = 0;
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly stream: LogStream,
    private readonly onDropped: (count: number) => void,
  ) {}

  write(line: string): void {
    if (this.stream.writableLength + this.gathered.length > MAX_UNREAD_LOG_BYTES) {
      this.dropped++;
      return;
    }
    if (this.dropped > 0) {
      const { dropped } = this;
      this.dropped = 0;
      this.onDropped(dropped);
    }
    this.gathered += line;
    if (this.gathered.length >= GATHERED_CHARS) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), GATHER_MS).unref();
  }

  flush(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    if (this.gathered !== '') this.stream.write(this.gathered);
    this.gathered = '';
  }
}

/** Loads pino-pretty, only if it is needed: it takes as long to load as pino. */
function prettyLines(stream: LogStream): (line: string) => string {
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof Pretty;
  const colorize = 'isTTY' in stream && stream.isTTY === true;
  return prettyFactory({ colorize, translateTime: 'SYS:HH:MM:ss.l', singleLine: true });
}

/** Formats the time of lines once a millisecond, because that costs as much as the rest of a line. */
function timestamps(): () => string {
  let atMs = 0;
  let text = '';
  return () => {
    const nowMs = wallMs();
    if (nowMs !== atMs) text = `,"time":"${new Date(nowMs).toISOString()}"`;
    atMs = nowMs;
    return text;
  };
}

/**
 * What repetitions of an error have in common: not its request, nor what its message quotes, which may be the client's
 * text. Damage is told apart by its message, which names what is damaged.
 */
function causeOf(message: string, fields: LogFields, error: unknown): string {
  const own = Object.entries(fields).filter(([name]) => !FIELDS_OF_A_REQUEST.includes(name));
  const parts = [message, JSON.stringify(own)];
  if (error instanceof Error) {
    const begin = /^[^'"\d:(]*/.exec(error.message)?.[0] ?? '';
    const frames = error.stack?.match(/^ +at .*$/gm) ?? [];
    parts.push(error.name, isDamage(error) ? error.message : begin, ...frames);
  }
  return parts.join('\n');
}

/** Errors may carry any field, including some that do not belong in a log. */
function errorFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return bounded({ message: String(error) });
  const { type, message, stack } = pino.stdSerializers.err(error);
  return bounded({ type, message, stack });
}

function bounded(fields: LogFields): LogFields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' ? value.slice(0, MAX_VALUE_CHARS) : value,
    ]),
  );
}

/** Makes handlers that log an error under a message. */
export const errorsTo =
  (logger: Logger) =>
  (message: string) =>
  (error: unknown): void =>
    logger.error(message, {}, error);
