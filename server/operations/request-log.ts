/** The log's lines about requests: one for each, and sums of failed authentications (docs/operating.md). */
import type { Exchange } from '../http/exchange.js';
import type { Logger } from '../logger.js';
import { CLIENT_GONE } from './metrics.js';

/** Anyone can send requests without a key: in each period, this many of them are logged, and the rest counted. */
export const MAX_KEYLESS_LINES = 100;
const KEYLESS_PERIOD_MS = 10_000;
const UNAUTHORIZED = 401;
const MAX_METHOD_CHARS = 32;

export class RequestLog {
  /** Lines of requests without a valid key in this period. */
  private lines = 0;
  private leftOut = 0;
  /** Failed authentications of this period after the first. */
  private missing = 0;
  private invalid = 0;
  private hasFailed = false;
  private period: NodeJS.Timeout | null = null;

  constructor(private readonly logger: Logger) {}

  ended(exchange: Exchange): void {
    if (!exchange.isKeyless) {
      this.line(exchange);
      return;
    }
    this.period ??= setTimeout(() => this.endPeriod(), KEYLESS_PERIOD_MS).unref();
    if (exchange.status === UNAUTHORIZED) this.failed(exchange);
    if (this.lines < MAX_KEYLESS_LINES) this.line(exchange);
    else this.leftOut++;
    this.lines++;
  }

  /** Logs the rest of the last period. */
  close(): void {
    if (this.period !== null) this.endPeriod();
  }

  private line({ id, method, route, status, keyId, bytes, ageMs }: Exchange): void {
    const verb = method === 'GET' ? '"GET"' : JSON.stringify(method.slice(0, MAX_METHOD_CHARS));
    // None of these texts has a character that JSON escapes.
    const place = route === null ? 'null' : `"${route}"`;
    const key = keyId === null ? 'null' : `"${keyId}"`;
    this.logger.often(
      'request',
      `"method":${verb},"route":${place},"status":${status ?? CLIENT_GONE},"key_id":${key},"request_id":"${id}","bytes":${bytes},"ms":${milliseconds(ageMs)}`,
    );
  }

  private failed(exchange: Exchange): void {
    const isMissing = exchange.header('x-api-key') === '';
    const fields = { request_id: exchange.id, key: isMissing ? 'missing' : 'invalid' };
    if (!this.hasFailed) {
      this.hasFailed = true;
      this.logger.warn('authentication failed', fields);
      return;
    }
    if (isMissing) this.missing++;
    else this.invalid++;
    this.logger.debug('authentication failed', fields);
  }

  private endPeriod(): void {
    const { missing, invalid, leftOut } = this;
    if (this.period !== null) clearTimeout(this.period);
    this.period = null;
    this.hasFailed = false;
    this.lines = this.leftOut = this.missing = this.invalid = 0;
    if (missing + invalid > 0) {
      this.logger.warn('more authentications failed', {
        missing_keys: missing,
        invalid_keys: invalid,
      });
    }
    if (leftOut > 0) this.logger.info('more requests without a key', { count: leftOut });
  }
}

/** In thousandths, from whole numbers: formatting a fraction takes V8 several times as long. */
function milliseconds(ms: number): string {
  const us = Math.round(ms * 1000);
  const rest = us % 1000;
  return `${(us - rest) / 1000}.${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}`;
}
