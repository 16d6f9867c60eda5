/** A local exchange: a WebSocket server and REST, whose messages and failures a test decides. */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { eventually } from '../support/waiting.js';

export const until = (condition: () => boolean): Promise<void> =>
  eventually('the state of a source', condition);

export interface RestReply {
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  delayMs?: number;
}

export class ExchangeServer {
  /** Connections that began, in order. */
  readonly connections: WebSocket[] = [];
  /** What clients sent, by connection. */
  readonly received: string[][] = [];
  readonly restUrls: string[] = [];
  /** Called for each connection once it has sent something, or at once where clients send nothing. */
  onSubscribed: (socket: WebSocket, nth: number) => void = () => undefined;
  onRest: (url: string, nth: number) => RestReply = () => ({ status: 404 });
  private readonly http = http.createServer((req, res) => void this.answer(req, res));
  /** The status and headers with which a connection is refused, by how many were asked for before; null: it begins. */
  onUpgrade: (nth: number) => { status: number; headers?: Record<string, string> } | null = () =>
    null;
  /** How many connections were asked for. */
  upgrades = 0;
  /** `autoPong` false: a half-open connection, whose other side is gone. */
  private readonly sockets = new WebSocketServer({
    server: this.http,
    autoPong: false,
    verifyClient: (_, reply) => {
      const refusal = this.onUpgrade(this.upgrades++);
      if (refusal === null) reply(true);
      else reply(false, refusal.status, 'refused', refusal.headers);
    },
  });
  answersPings = true;
  sendsNothingFirst = false;

  static async start(): Promise<ExchangeServer> {
    const server = new ExchangeServer();
    await new Promise<void>((ready) => server.http.listen(0, '127.0.0.1', ready));
    return server;
  }

  private constructor() {
    this.sockets.on('connection', (socket) => {
      const nth = this.connections.push(socket) - 1;
      this.received.push([]);
      socket.on('error', () => undefined);
      socket.on('ping', () => {
        if (this.answersPings) socket.pong();
      });
      let isSubscribed = false;
      const subscribed = (): void => {
        if (!isSubscribed) this.onSubscribed(socket, nth);
        isSubscribed = true;
      };
      socket.on('message', (data: Buffer) => {
        this.received[nth].push(data.toString());
        subscribed();
      });
      if (this.sendsNothingFirst) subscribed();
    });
  }

  private async answer(req: http.IncomingMessage, res: http.ServerResponse): Promise<void> {
    const url = req.url ?? '';
    const {
      status = 200,
      headers = {},
      body = {},
      delayMs = 0,
    } = this.onRest(url, this.restUrls.push(url) - 1);
    if (delayMs > 0) await new Promise((done) => setTimeout(done, delayMs));
    res.writeHead(status, { 'content-type': 'application/json', ...headers });
    res.end(JSON.stringify(body));
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.http.address() as AddressInfo).port}`;
  }

  get restUrl(): string {
    return this.url.replace('ws', 'http');
  }

  async connected(nth: number): Promise<WebSocket> {
    await until(() => this.connections.length > nth);
    return this.connections[nth];
  }

  async stop(): Promise<void> {
    for (const socket of this.connections) socket.terminate();
    this.sockets.close();
    this.http.closeAllConnections();
    await new Promise((closed) => this.http.close(closed));
  }
}
