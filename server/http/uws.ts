/** The engine on uWebSockets.js, which this module alone knows. Importing it fails where the library does not load. */
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import type * as Uws from 'uWebSockets.js';
import { wallMs } from '../../storage/wall-clock.js';
import {
  badRequest,
  type EngineRequest,
  type HttpEngine,
  listenFault,
  type Listener,
  type ListenOptions,
  type ReplyHead,
} from './engine.js';
import { type ApiError, reasonPhrase } from './errors.js';

const uws = createRequire(import.meta.url)('uWebSockets.js') as typeof Uws;

/**
 * uWebSockets.js cuts a connection 10 s after the kernel last took bytes, even if a slow client with
 * large socket buffers is still reading. Resetting its timer this often leaves the decision to the server.
 */
const REWIND_MS = 4_000;
const LINE_BREAK = '\r\n';

/** Missing from the library's types. */
interface UntypedUws {
  LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}
interface UntypedApp {
  listen(
    host: string,
    port: number,
    options: number,
    callback: (socket: Uws.us_listen_socket | false) => void,
  ): void;
}

export const uwsEngine: HttpEngine = { name: 'uws', listen };

async function listen(options: ListenOptions): Promise<Listener> {
  const { host, port, onRequest, connections } = options;
  const app = uws.App();
  app.filter((res, change) => {
    if (Number(change) < 0) connections?.closed();
    else if (connections?.opened() === false) res.close();
  });
  app.any('/*', (res, req) => {
    const request = new UwsRequest(res, req);
    const fault = framingFault(req);
    if (fault === null) onRequest(request);
    else request.refuse(fault);
  });
  const socket = await new Promise<Uws.us_listen_socket | false>((resolve) => {
    // Without this option, a second server on the port would get half of the connections.
    const { LIBUS_LISTEN_EXCLUSIVE_PORT: exclusive } = uws as unknown as UntypedUws;
    (app as unknown as UntypedApp).listen(host, port, exclusive, resolve);
  });
  if (socket === false) throw await whyNot(host, port);
  let listening = true;
  let open = true;
  const stopListening = () => {
    if (listening) uws.us_listen_socket_close(socket);
    listening = false;
  };
  return {
    port: uws.us_socket_local_port(socket),
    stopListening,
    close() {
      stopListening();
      if (open) app.close();
      open = false;
    },
  };
}

/** uWebSockets.js does not say why it could not listen; Node's own server does. */
function whyNot(host: string, port: number): Promise<Error> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(listenFault(host, port, code)),
    );
    probe.listen({ port, host, exclusive: true }, () => {
      probe.close(() => resolve(listenFault(host, port)));
    });
  });
}

/** What the library lets pass, and a proxy in front may read otherwise. */
function framingFault(req: Uws.HttpRequest): ApiError | null {
  const coding = req.getHeader('transfer-encoding');
  if (coding !== '' && coding.toLowerCase() !== 'chunked') {
    return badRequest('Transfer-Encoding: expected chunked alone');
  }
  if (req.getHeader('content-length') === '') return null;
  let lengths = 0;
  req.forEach((name) => {
    if (name === 'content-length') lengths++;
  });
  return lengths === 1 ? null : badRequest(`Content-Length: expected one, not ${lengths}`);
}

/** Nothing else touches the library's `res`, and this does not after the reply or the client's end. */
class UwsRequest implements EngineRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  private gone: (() => void) | null = null;
  private rewind: NodeJS.Timeout | undefined;

  constructor(
    private readonly res: Uws.HttpResponse,
    private readonly req: Uws.HttpRequest,
  ) {
    this.method = req.getCaseSensitiveMethod();
    this.path = req.getUrl();
    this.query = req.getQuery() ?? '';
  }

  header(name: string): string {
    return this.req.getHeader(name);
  }

  address(): string {
    return Buffer.from(this.res.getRemoteAddressAsText()).toString('latin1');
  }

  onGone(listener: () => void): void {
    this.gone = listener;
    this.res.onAborted(() => {
      clearInterval(this.rewind);
      this.gone?.();
    });
  }

  onData(listener: (chunk: Uint8Array, isLast: boolean) => void): void {
    this.res.onData((chunk, isLast) => listener(new Uint8Array(chunk), isLast));
  }

  reply(
    head: ReplyHead,
    body: Uint8Array | null,
    onTaken: (bytes: number, isAll: boolean) => void,
  ): boolean {
    let isAll = true;
    this.res.cork(() => {
      const isBodyless = body === null || body.byteLength === 0 || this.method === 'HEAD';
      if (isBodyless) this.sendHead(head, body);
      else isAll = this.send(head, body, onTaken);
    });
    return isAll;
  }

  cut(): void {
    this.res.close();
  }

  /** Replies to what is no request, and cuts the connection. */
  refuse({ status, body }: ApiError): void {
    this.res.onAborted(() => this.gone?.());
    const text = JSON.stringify(body);
    const headers = [['Content-Type', 'application/json']] as const;
    const head = { status, reason: reasonPhrase(status), headers, isLast: true };
    this.sendLast(head, Buffer.byteLength(text) + LINE_BREAK.length, LINE_BREAK + text);
  }

  private writeHead({ status, reason, headers, isLast }: ReplyHead): void {
    const { res } = this;
    res.writeStatus(`${status} ${reason}`);
    for (const [name, value] of headers) res.writeHeader(name, value);
    if (isLast) res.writeHeader('Connection', 'close');
  }

  /** Sends the head alone, with the length of `body`. */
  private sendHead(head: ReplyHead, body: Uint8Array | null): void {
    if (head.isLast) {
      this.sendLast(head, body?.byteLength ?? null);
      return;
    }
    this.writeHead(head);
    // Given the length as an argument, endWithoutBody would wait for that many bytes.
    if (body !== null) this.res.writeHeader('Content-Length', String(body.byteLength));
    this.res.endWithoutBody();
  }

  /**
   * Replies and ends the connection. The library cannot do so: for it this is a status, which it ends with a
   * line break, of a reply that never comes.
   * @param text what follows the headers, but for that line break
   */
  private sendLast(head: ReplyHead, length: number | null, text = ''): void {
    const headers = [
      ...head.headers,
      ['Date', new Date(wallMs()).toUTCString()],
      ['Connection', 'close'],
    ];
    if (length !== null) headers.push(['Content-Length', String(length)]);
    const lines = headers.map(([name, value]) => `${name}: ${value}${LINE_BREAK}`);
    this.res.writeStatus(`${head.status} ${head.reason}${LINE_BREAK}${lines.join('')}${text}`);
    const closing = setImmediate(() => this.res.close());
    this.gone = () => clearImmediate(closing);
  }

  private send(
    head: ReplyHead,
    body: Uint8Array,
    onTaken: (bytes: number, isAll: boolean) => void,
  ): boolean {
    const { res } = this;
    const total = body.byteLength;
    this.writeHead(head);
    // `end` would copy what the kernel does not take, even for clients that do not read.
    if (res.tryEnd(body, total)[1]) return true;
    res.onWritable((offset) => {
      const [ok, isAll] = res.tryEnd(body.subarray(offset), total);
      if (isAll) clearInterval(this.rewind);
      onTaken(isAll ? total : offset, isAll);
      return ok;
    });
    this.rewind = setInterval(() => {
      // Resuming resets the timer of uWebSockets.js.
      res.pause();
      res.resume();
    }, REWIND_MS);
    return false;
  }
}
