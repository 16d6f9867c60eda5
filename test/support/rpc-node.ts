/** A node's JSON-RPC address, as a test wants it to answer. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Parsed } from '../storage/import-helpers.js';
import { atEnd } from './folders.js';

export interface Asked {
  id: number;
  method: string;
  // Parameters are whatever the method takes.
  params: Parsed[];
}

/** What the node answers to one call: its result, or an error. */
export type Answer = { result: unknown } | { error: { code: number; message: string } };

export class RpcNode {
  /** Requests with the calls of each. */
  readonly requests: Asked[][] = [];
  /** Answers a call. */
  answer: (call: Asked) => Answer = () => ({ result: null });
  /** Takes a whole request over if it returns true. */
  intercept: (calls: Asked[], response: ServerResponse, body: unknown) => boolean = () => false;
  url = '';

  static async start(): Promise<RpcNode> {
    const node = new RpcNode();
    const server = createServer((request, response) => void node.handle(request, response));
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
    atEnd(() => {
      server.closeAllConnections();
      server.close();
    });
    node.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2/secret-key`;
    return node;
  }

  /** Answers whole requests as another node does. */
  passOnTo(url: string): void {
    this.intercept = (_calls, response, body) => {
      const init = { method: 'POST', body: JSON.stringify(body) };
      const headers = { 'content-type': 'application/json' };
      void fetch(url, { ...init, headers })
        .then((reply) => reply.text())
        .then((text) => response.end(text));
      return true;
    };
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += chunk;
    const body = JSON.parse(text);
    const calls: Asked[] = [body].flat();
    this.requests.push(calls);
    if (this.intercept(calls, response, body)) return;
    const replies = calls.map((call) => ({ jsonrpc: '2.0', id: call.id, ...this.answer(call) }));
    response.end(JSON.stringify(Array.isArray(body) ? replies : replies[0]));
  }
}
