/** JSON-RPC over HTTP to a chain's node, with bounds on time, tries and bytes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { unescape } from 'node:querystring';
import { isFields } from '../../compute/ingest/fields.js';
import { boundedText } from '../bounded-text.js';
import { withTimeout } from '../timeout.js';

/** A request and its reply, from the first byte to the last. */
const REQUEST_TIMEOUT_MS = 10_000;
/** A hundred accounts of Solana are 1.4 MB. */
const MAX_RPC_REPLY_BYTES = 32 * 1024 * 1024;
/** Calls in one request; a node that refuses so many is asked for half, and so on. */
export const MAX_BATCH_CALLS = 100;
/** Tries of a request that the node cannot answer now. */
const MAX_RPC_TRIES = 4;
/** Waits double from try to try, up to the maximum; a longer Retry-After counts as the maximum. */
const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 4_000;
/** Characters of a node's message that ours repeats. */
const MAX_MESSAGE_CHARS = 200;

export interface RpcCall {
  method: string;
  params: readonly unknown[];
}

/**
 * busy: the node cannot answer now (429, 5xx, no connection, too late, not JSON-RPC). behind: it does not have the block
 * or slot yet. refused: it answers that it will not.
 */
export type RpcFailure = 'busy' | 'behind' | 'refused';

/** What went wrong at a node. The message names the node's host, never the URL: that may hold a key. */
export class RpcError extends Error {
  override readonly name = 'RpcError';

  constructor(
    readonly failure: RpcFailure,
    message: string,
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
  }
}

/** Nodes say in many words that they do not have a block yet. */
const BEHIND =
  /header not found|(unknown|missing) block|block .*(not found|not available|out of range)|minimum context slot|behind by/i;
const BEHIND_CODES = new Set<unknown>([-32001, -32016]);
const BUSY =
  /rate.?limit|limit exceeded|too many requests|capacity|timed? ?out|busy|unhealthy|try again/i;
const BUSY_CODES = new Set<unknown>([429, -32005]);

/** A node. Its requests are its own; callers send one after the other. */
export class JsonRpc {
  readonly host: string;
  private id = 0;
  private batchCalls = MAX_BATCH_CALLS;

  private readonly url: string;
  private readonly headers: Record<string, string> = { 'content-type': 'application/json' };

  /** @param url of http or https; a user and a password in it are sent as Basic authorization */
  constructor(url: string) {
    const parsed = new URL(url);
    const { username, password } = parsed;
    if (username !== '' || password !== '') {
      const user = Buffer.from(`${unescape(username)}:${unescape(password)}`);
      this.headers.authorization = `Basic ${user.toString('base64')}`;
      [parsed.username, parsed.password] = ['', ''];
    }
    [this.url, this.host] = [parsed.href, parsed.host];
  }

  /**
   * Results in the order of the calls; an RpcError in place of the result of a call that the node refuses.
   * @throws RpcError busy, after several tries; behind. The signal's reason once it is aborted
   */
  async send(calls: readonly RpcCall[], signal: AbortSignal): Promise<unknown[]> {
    const results: unknown[] = [];
    while (results.length < calls.length) {
      const part = calls.slice(results.length, results.length + this.batchCalls);
      const replies = await this.retried(part, signal);
      if (replies !== null) results.push(...replies);
      else this.batchCalls = Math.ceil(part.length / 2);
    }
    return results;
  }

  /** @throws RpcError */
  async call(method: string, params: readonly unknown[], signal: AbortSignal): Promise<unknown> {
    const [result] = await this.send([{ method, params }], signal);
    if (result instanceof RpcError) throw result;
    return result;
  }

  /** @returns null if the node refuses so many calls in one request */
  private async retried(calls: readonly RpcCall[], signal: AbortSignal): Promise<unknown[] | null> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.request(calls, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof RpcError) || error.failure !== 'busy' || tries === MAX_RPC_TRIES) {
          throw error;
        }
        const backoffMs = FIRST_WAIT_MS * 2 ** (tries - 1) * (0.5 + Math.random());
        const waitMs = Math.min(MAX_WAIT_MS, error.retryAfterMs ?? backoffMs);
        await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      }
    }
  }

  private async request(calls: readonly RpcCall[], signal: AbortSignal): Promise<unknown[] | null> {
    const first = this.id + 1;
    this.id += calls.length;
    const bodies = calls.map((call, i) => ({ jsonrpc: '2.0', id: first + i, ...call }));
    const { status, text } = await this.post(bodies.length === 1 ? bodies[0] : bodies, signal);
    const reply = parsed(text);
    if (calls.length > 1 && !Array.isArray(reply)) {
      const isRefusal = status === 413 || status === 400 || (isFields(reply) && 'error' in reply);
      const error = isFields(reply) ? this.errorOf(reply.error) : null;
      if (isRefusal && error?.failure !== 'busy' && error?.failure !== 'behind') return null;
      if (error !== null) throw error;
    }
    const byId = new Map<unknown, unknown>();
    for (const answer of Array.isArray(reply) ? (reply as unknown[]) : [reply]) {
      if (isFields(answer)) byId.set(answer.id, answer);
    }
    return bodies.map(({ id }) => this.resultOf(byId.get(id), status));
  }

  private resultOf(answer: unknown, status: number): unknown {
    if (!isFields(answer) || !('result' in answer || 'error' in answer)) {
      const why = status === 200 ? 'its reply is not JSON-RPC' : `HTTP ${status}`;
      throw this.fault(status >= 400 && status < 500 ? 'refused' : 'busy', why);
    }
    if (!isFields(answer.error)) return answer.result;
    const error = this.errorOf(answer.error);
    if (error.failure !== 'refused') throw error;
    return error;
  }

  private errorOf(error: unknown): RpcError {
    const { code, message } = isFields(error) ? error : {};
    const text = typeof message === 'string' ? message.slice(0, MAX_MESSAGE_CHARS) : 'an error';
    if (BEHIND_CODES.has(code) || BEHIND.test(text)) return this.fault('behind', text);
    const isBusy = BUSY_CODES.has(code) || BUSY.test(text);
    return this.fault(isBusy ? 'busy' : 'refused', text);
  }

  /** @throws RpcError busy */
  private async post(body: object, signal: AbortSignal): Promise<{ status: number; text: string }> {
    try {
      return await withTimeout(signal, REQUEST_TIMEOUT_MS, async (within) => {
        const response = await fetch(this.url, {
          method: 'POST',
          headers: this.headers,
          body: JSON.stringify(body),
          signal: within,
        });
        const text = await boundedText(response, MAX_RPC_REPLY_BYTES, () =>
          this.fault('refused', `its reply has more than ${MAX_RPC_REPLY_BYTES} bytes`),
        );
        const { status } = response;
        if (status !== 429 && status < 500) return { status, text };
        throw this.fault('busy', `HTTP ${status}`, retryAfterMs(response.headers));
      });
    } catch (error) {
      if (error instanceof RpcError) throw error;
      signal.throwIfAborted();
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      const isLate = error instanceof Error && error.name === 'TimeoutError';
      const why = isLate ? error.message : String(cause);
      throw this.fault('busy', why);
    }
  }

  private fault(failure: RpcFailure, what: string, retryMs: number | null = null): RpcError {
    return new RpcError(failure, `${this.host}: ${what}`, retryMs);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Milliseconds of a Retry-After header in seconds; null without one. */
function retryAfterMs(headers: Headers): number | null {
  const text = headers.get('retry-after')?.trim() ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) * 1000 : null;
}
