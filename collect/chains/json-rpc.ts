/** JSON-RPC over HTTP to a chain's node, with bounds on time, tries and bytes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { unescape } from 'node:querystring';
import { isFields } from '../../compute/ingest/fields.js';
import { messageOf } from '../../storage/errors.js';
import { boundedText } from '../bounded-text.js';
import { retryAfterMs } from '../retry-after.js';
import { withTimeout } from '../timeout.js';

/** A request and its reply, from the first byte to the last. */
const REQUEST_TIMEOUT_MS = 10_000;
/** A hundred accounts of Solana are 1.4 MB. */
const MAX_RPC_REPLY_BYTES = 32 * 1024 * 1024;
/** Calls in one request; a node that refuses so many is asked for half, and so on. */
export const MAX_BATCH_CALLS = 100;
/**
 * Full requests that a node answers before it is asked for twice as many calls. Each refusal doubles them, up to the
 * maximum: a node that always refuses gets ever fewer requests that it will refuse.
 */
const FIRST_GROW_REQUESTS = 8;
const MAX_GROW_REQUESTS = 1_024;
/** Requests that a node is sent at once, by all tokens together. */
export const MAX_IN_FLIGHT = 4;
/** Tries of a request that the node cannot answer now. */
const MAX_RPC_TRIES = 4;
/** Waits double from try to try, up to the maximum. */
const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 4_000;
/** A node that asks for a longer wait than the maximum (Retry-After) is left alone for so long, up to this. */
const MAX_PAUSE_MS = 600_000;
/** Characters of a node's message that ours repeats. */
const MAX_MESSAGE_CHARS = 200;
/** Shorter parts of a URL (`v2`, `rpc`) are no keys. */
const MIN_SECRET_CHARS = 6;

export interface RpcCall {
  method: string;
  params: readonly unknown[];
}

/**
 * busy: the node cannot answer now (429, 5xx, no connection, too late, not JSON-RPC). behind: it does not have the block
 * or slot yet. pruned: it no longer has the block's state. refused: it answers that it will not.
 */
export type RpcFailure = 'busy' | 'behind' | 'pruned' | 'refused';

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

/** Waits. @throws the signal's reason once it is aborted */
async function pause(waitMs: number, signal: AbortSignal): Promise<void> {
  await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
}

/** A contract's own words, in which anything may stand. */
const REVERTED = /^(execution|vm execution|vm exception).*revert/i;
const REVERTED_CODE = 3;
const UNKNOWN_METHOD_CODE = -32601;
/** Nodes say in many words that they do not have a block yet, or its state any more. */
const BEHIND =
  /header not found|(unknown|missing) block|block .*(not found|not available|out of range)|minimum context slot|behind by/i;
const BEHIND_CODES = new Set<unknown>([-32001, -32016]);
const PRUNED =
  /missing trie node|prun(ed|ing)|state .*(not |un)available|no state available|proof window/i;
const BUSY =
  /rate.?limit|limit exceeded|too many requests|capacity|timed? ?out|busy|unhealthy|try again/i;
const BUSY_CODES = new Set<unknown>([429, -32005]);

/** A node, which all that read it share: what it takes at once, and when it wants silence. */
export class JsonRpc {
  readonly host: string;
  private id = 0;
  /** Calls in a request, full requests answered since it last changed, and how many of them let it grow. */
  private batch = { calls: MAX_BATCH_CALLS, answered: 0, growAfter: FIRST_GROW_REQUESTS };
  private inFlight = 0;
  /** Requests that wait for one in flight to end, the first first. */
  private readonly queue: (() => void)[] = [];
  /** No request is made before, by `performance.now()`. */
  private pausedUntilMs = 0;

  private readonly url: string;
  /** Parts of the URL that may be a key. */
  private readonly secrets: readonly string[];
  private readonly headers: Record<string, string> = { 'content-type': 'application/json' };

  /**
   * @param url of http or https; a user and a password in it are sent as Basic authorization
   * @param wait waits for so many ms, or throws the signal's reason
   */
  constructor(
    url: string,
    private readonly wait: typeof pause = pause,
  ) {
    const parsed = new URL(url);
    const { username, password } = parsed;
    if (username !== '' || password !== '') {
      const user = Buffer.from(`${unescape(username)}:${unescape(password)}`);
      this.headers.authorization = `Basic ${user.toString('base64')}`;
      [parsed.username, parsed.password] = ['', ''];
    }
    [this.url, this.host] = [parsed.href, parsed.host];
    const values = parsed.search.split(/[?&]/).map((pair) => pair.slice(pair.indexOf('=') + 1));
    const parts = [username, password, ...parsed.pathname.split('/'), ...values];
    this.secrets = [...parts, ...parts.map(unescape)].filter(
      ({ length }) => length >= MIN_SECRET_CHARS,
    );
  }

  /**
   * Results in the order of the calls; an RpcError in place of the result of a call that the node refuses, or alone
   * cannot answer after several tries. Only calls without an answer are repeated.
   * @param onResult called with each result of a request when it has come
   * @throws RpcError busy, after several tries; behind; pruned. The signal's reason once it is aborted
   */
  async send(
    calls: readonly RpcCall[],
    signal: AbortSignal,
    onResult: (call: number, result: unknown) => void = () => undefined,
  ): Promise<unknown[]> {
    const results: unknown[] = [];
    let left = calls.map((_, i) => i);
    let tries = 0;
    while (left.length > 0) {
      const part = left.slice(0, this.batch.calls);
      const sent = part.map((i) => calls[i]);
      const answers = await this.request(sent, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        if (isBusy(error)) return error;
        throw error;
      });
      if (answers === 'too many') {
        this.shrink(part.length);
        continue;
      }
      tries++;
      const isLast = tries === MAX_RPC_TRIES || this.isPaused();
      if (answers instanceof RpcError) {
        if (isLast) throw answers;
        await this.waitAfter(tries, signal, answers.retryAfterMs);
        continue;
      }
      const again = part.filter((_, at) => isBusy(answers[at]));
      if (isLast && again.length === calls.length) throw answers[0];
      part.forEach((i, at) => {
        results[i] = answers[at];
        if (isLast || !isBusy(answers[at])) onResult(i, answers[at]);
      });
      left = left.slice(part.length);
      if (again.length === 0) this.grow(part.length);
      if (again.length < part.length) tries = 0;
      if (again.length === 0 || isLast) continue;
      left.unshift(...again);
      await this.waitAfter(tries + 1, signal);
    }
    return results;
  }

  private shrink(refused: number): void {
    const { growAfter } = this.batch;
    this.batch = {
      calls: Math.ceil(refused / 2),
      answered: 0,
      growAfter: Math.min(MAX_GROW_REQUESTS, 2 * growAfter),
    };
  }

  private grow(answered: number): void {
    const { batch } = this;
    if (answered < batch.calls || batch.calls === MAX_BATCH_CALLS) return;
    if (++batch.answered < batch.growAfter) return;
    batch.calls = Math.min(MAX_BATCH_CALLS, 2 * batch.calls);
    batch.answered = 0;
  }

  /**
   * Waits after a try that failed: the time doubles from try to try, half of it by chance.
   * @param askedMs what the node asks for instead
   */
  waitAfter(tries: number, signal: AbortSignal, askedMs: number | null = null): Promise<void> {
    const waitMs = askedMs ?? FIRST_WAIT_MS * 2 ** (tries - 1) * (0.5 + Math.random());
    return this.wait(Math.min(MAX_WAIT_MS, waitMs), signal);
  }

  /** @throws RpcError */
  async call(method: string, params: readonly unknown[], signal: AbortSignal): Promise<unknown> {
    const [result] = await this.send([{ method, params }], signal);
    if (result instanceof RpcError) throw result;
    return result;
  }

  private isPaused(): boolean {
    return performance.now() < this.pausedUntilMs;
  }

  /**
   * The answers to calls that fit into one request, with a busy RpcError in place of each that is missing.
   * @throws RpcError
   */
  private async request(
    calls: readonly RpcCall[],
    signal: AbortSignal,
  ): Promise<unknown[] | 'too many'> {
    const first = this.id + 1;
    this.id += calls.length;
    const bodies = calls.map((call, i) => ({ jsonrpc: '2.0', id: first + i, ...call }));
    const posted = await this.post(bodies.length === 1 ? bodies[0] : bodies, signal);
    if (posted === 'too long') {
      if (calls.length > 1) return 'too many';
      return [this.fault('refused', `its reply has more than ${MAX_RPC_REPLY_BYTES} bytes`)];
    }
    const { status, text } = posted;
    const reply = parsed(text);
    if (calls.length > 1 && !Array.isArray(reply)) {
      const isRefusal = status === 413 || status === 400 || (isFields(reply) && 'error' in reply);
      const error = isFields(reply) ? this.errorOf(reply.error) : null;
      if (isRefusal && (error === null || error.failure === 'refused')) return 'too many';
      if (error !== null) throw error;
    }
    const byId = new Map<unknown, unknown>();
    for (const answer of Array.isArray(reply) ? (reply as unknown[]) : [reply]) {
      if (isFields(answer)) byId.set(answer.id, answer);
    }
    // A reply that answers nothing is none.
    const isPartial = bodies.some(({ id }) => byId.has(id));
    return bodies.map(({ id }) => {
      const answer = this.answerOf(byId.get(id), status);
      if (answer instanceof RpcError && !isPartial) throw answer;
      return answer;
    });
  }

  /** A result, or why there is none. @throws RpcError behind, pruned: the whole reading begins anew */
  private answerOf(answer: unknown, status: number): unknown {
    if (!isFields(answer) || !('result' in answer || 'error' in answer)) {
      const why = status === 200 ? 'its reply is not JSON-RPC' : `HTTP ${status}${hintOf(status)}`;
      return this.fault(status >= 400 && status < 500 ? 'refused' : 'busy', why);
    }
    if (!isFields(answer.error)) return answer.result;
    const error = this.errorOf(answer.error);
    if (error.failure === 'behind' || error.failure === 'pruned') throw error;
    return error;
  }

  private errorOf(error: unknown): RpcError {
    const { code, message } = isFields(error) ? error : {};
    const text = typeof message === 'string' ? this.withoutKeys(message) : 'an error';
    if (code === REVERTED_CODE || REVERTED.test(text)) return this.fault('refused', text);
    if (PRUNED.test(text)) return this.fault('pruned', text);
    if (BEHIND_CODES.has(code) || BEHIND.test(text)) return this.fault('behind', text);
    if (code === UNKNOWN_METHOD_CODE) {
      return this.fault('refused', `${text}: is rpc a node of the pool's chain?`);
    }
    const isNow = BUSY_CODES.has(code) || BUSY.test(text);
    return this.fault(isNow ? 'busy' : 'refused', text);
  }

  /** A node's message without what is secret in our URL, or may be in others that it names. */
  private withoutKeys(message: string): string {
    let text = message.replaceAll(/\bhttps?:\/\/[^\s"']+/gi, 'its URL');
    for (const secret of this.secrets) text = text.replaceAll(secret, '***');
    return text.slice(0, MAX_MESSAGE_CHARS);
  }

  /** @throws RpcError busy */
  private async post(
    body: object,
    signal: AbortSignal,
  ): Promise<{ status: number; text: string } | 'too long'> {
    if (this.inFlight === MAX_IN_FLIGHT) await new Promise<void>((go) => this.queue.push(go));
    else this.inFlight++;
    try {
      signal.throwIfAborted();
      return await this.fetch(body, signal);
    } finally {
      // The next one takes this one's place.
      const next = this.queue.shift();
      if (next === undefined) this.inFlight--;
      else next();
    }
  }

  private async fetch(
    body: object,
    signal: AbortSignal,
  ): Promise<{ status: number; text: string } | 'too long'> {
    if (this.isPaused()) {
      const leftS = Math.ceil((this.pausedUntilMs - performance.now()) / 1000);
      throw this.fault('busy', `asks not to be asked for another ${leftS} s`);
    }
    try {
      return await withTimeout(signal, REQUEST_TIMEOUT_MS, async (within) => {
        const response = await fetch(this.url, {
          method: 'POST',
          headers: this.headers,
          body: JSON.stringify(body),
          signal: within,
        });
        const text = await boundedText(response, MAX_RPC_REPLY_BYTES, () => TOO_LONG);
        const { status } = response;
        if (status !== 429 && status < 500) return { status, text };
        const askedMs = retryAfterMs(response.headers);
        if (askedMs !== null && askedMs > MAX_WAIT_MS) {
          this.pausedUntilMs = performance.now() + Math.min(askedMs, MAX_PAUSE_MS);
        }
        throw this.fault('busy', `HTTP ${status}`, askedMs);
      });
    } catch (error) {
      if (error === TOO_LONG) return 'too long';
      if (error instanceof RpcError) throw error;
      signal.throwIfAborted();
      // fetch() hides why it failed.
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      throw this.fault('busy', this.withoutKeys(messageOf(cause)));
    }
  }

  private fault(failure: RpcFailure, what: string, retryMs: number | null = null): RpcError {
    return new RpcError(failure, `${this.host}: ${what}`, retryMs);
  }
}

/** What a status says about the URL. */
function hintOf(status: number): string {
  if (status === 401 || status === 403) return ': it wants another key, or user, in rpc';
  return status === 404 || status === 405 ? ': there is no JSON-RPC at the path of rpc' : '';
}

const TOO_LONG = new Error('too long');

const isBusy = (answer: unknown): answer is RpcError =>
  answer instanceof RpcError && answer.failure === 'busy';

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
