/** Replies that are read as they come. */

/** Maximum size of a decoded body; no full page reaches it. */
const MAX_BODY_BYTES = 128 * 1024 * 1024;

/** A reply that is read as it comes. Close it. */
export class OpenReply {
  readonly status: number;
  readonly headers: Headers;
  private readonly reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(
    reply: Response,
    private readonly trial: Trial,
  ) {
    this.status = reply.status;
    this.headers = reply.headers;
    this.reader = (reply.body as ReadableStream<Uint8Array> | null)?.getReader();
  }

  /** The next bytes, decoded; null at the end. @throws if the connection is lost, silent or aborted */
  async next(): Promise<Uint8Array | null> {
    if (this.reader === undefined) return null;
    this.trial.resume();
    const { value } = await this.trial.unlessEnded(this.reader.read());
    this.trial.pause();
    return value ?? null;
  }

  /** The rest of the body. */
  async rest(): Promise<Uint8Array<ArrayBuffer>> {
    const chunks: Uint8Array[] = [];
    let length = 0;
    for (let chunk; (chunk = await this.next()) !== null; chunks.push(chunk)) {
      length += chunk.length;
      if (length > MAX_BODY_BYTES) throw new Error(`a reply of more than ${MAX_BODY_BYTES} bytes`);
    }
    return joined(chunks, length);
  }

  close(): void {
    this.trial.close();
    // Otherwise the connection of a reply that was not read to its end would stay open.
    this.reader?.cancel().catch(() => undefined);
  }
}

/**
 * One try of a request, until its signal is aborted or the server is silent for too long. It ends waits itself: Node's
 * fetch sometimes misses an abort once a reply has begun, and its reader then waits forever.
 */
export class Trial {
  private readonly ending = new AbortController();
  private readonly ended: Promise<never>;
  private timer: ReturnType<typeof setTimeout>;

  constructor(
    private readonly outer: AbortSignal | undefined,
    private readonly silenceMs: number,
  ) {
    const { signal } = this.ending;
    this.ended = new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
    this.ended.catch(() => undefined);
    this.timer = this.silence();
    outer?.addEventListener('abort', this.abort);
    if (outer?.aborted) this.abort();
  }

  /** Aborted with the try. */
  get signal(): AbortSignal {
    return this.ending.signal;
  }

  /** The result, unless the try ends first. @throws the reason for which it ended */
  unlessEnded<T>(result: Promise<T>): Promise<T> {
    return Promise.race([result, this.ended]);
  }

  /** Call when something is awaited again. */
  resume(): void {
    clearTimeout(this.timer);
    this.timer = this.silence();
  }

  /** Call when nothing is awaited. */
  pause(): void {
    clearTimeout(this.timer);
  }

  close(): void {
    this.pause();
    this.outer?.removeEventListener('abort', this.abort);
  }

  private readonly abort = (): void => this.ending.abort(this.outer?.reason);

  private silence(): ReturnType<typeof setTimeout> {
    const what = `no byte in ${this.silenceMs / 1000} s`;
    return setTimeout(() => this.ending.abort(new Error(what)), this.silenceMs);
  }
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
