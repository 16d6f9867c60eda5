/** A test client of `GET /api/v1/stream` that keeps its messages. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { unpack } from 'msgpackr';
import { expect } from 'vitest';
import WebSocket from 'ws';
import type { Tier } from '../../compute/market.js';
import { fathom } from './cli.js';
import { temporaryDirectory } from './folders.js';
import { MINT } from './stores.js';
import { eventually } from './waiting.js';

/** Has the command ingest snapshots of one cell each into a server's directory. */
export async function ingestCells(
  directory: string,
  rows: readonly [t: number, supportUsd: number][],
  mint = MINT,
  tier: Tier = 'raw',
): Promise<void> {
  const market = { source: 'Orca', exchange_type: 'DEX', type: 'onchain_pool', pair: 'A/B' };
  const cells = rows.map(([t, support_usd]) =>
    JSON.stringify({
      chain: 'mainchain',
      address: mint,
      t,
      tier,
      price_usd: 2,
      ...market,
      market_address: 'pool',
      bin: -1,
      support_usd,
      resistance_usd: 0,
    }),
  );
  const file = path.join(temporaryDirectory(), 'cells.ndjson');
  writeFileSync(file, `${cells.join('\n')}\n`);
  const { status, stderr } = await fathom(['ingest', 'cells', file, '--data', directory]);
  expect([status, stderr]).toEqual([0, expect.any(String)]);
}

/** Has the command delete a token's snapshots from `fromS` until before `toS`: those of all tiers, or of one. */
export async function deleteSnapshots(directory: string, fromS: number, toS: number, tier?: Tier) {
  return fathom([
    'delete',
    '--token',
    `mainchain:${MINT}`,
    '--yes',
    '--data',
    directory,
    '--from',
    String(fromS),
    '--to',
    String(toS),
    ...(tier === undefined ? [] : ['--tier', tier]),
  ]);
}

/** A message of the server. */
export interface Message {
  type: string;
  id?: string;
  t?: number | number[];
  next_from?: number;
  cursor?: string;
  snapshots?: { t: number; support_usd: number[] }[];
  [field: string]: unknown;
}

/** A WebSocket from a library other than the server's (unless the engine is Node's). */
export class LiveClient {
  /** Messages that next() has not taken. */
  messages: Message[] = [];
  /** All messages. */
  readonly heard: Message[] = [];
  readonly binary: Buffer[] = [];
  closed: { code: number; reason: string } | null = null;

  private constructor(readonly socket: WebSocket) {
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) this.binary.push(data);
      const message = (isBinary ? unpack(data) : JSON.parse(data.toString())) as Message;
      this.messages.push(message);
      this.heard.push(message);
    });
    socket.on('close', (code, reason) => (this.closed = { code, reason: reason.toString() }));
  }

  static async open(
    url: string,
    key: string | null,
    protocols: string[] = [],
  ): Promise<LiveClient> {
    const headers = key === null ? {} : { 'x-api-key': key };
    const address = `${url.replace('http', 'ws')}/api/v1/stream`;
    // A proxy's certificate is self-signed.
    const options = { headers, rejectUnauthorized: false };
    const client = new LiveClient(new WebSocket(address, protocols, options));
    await new Promise((resolve, reject) => {
      client.socket.once('open', resolve);
      client.socket.once('error', reject);
    });
    return client;
  }

  send(message: object): void {
    this.socket.send(JSON.stringify(message));
  }

  /** The first message after those already taken; by default not a heartbeat, which a slow machine lets come anywhere. */
  async next(
    isWanted: (message: Message) => boolean = ({ type }) => type !== 'heartbeat',
  ): Promise<Message> {
    let found: Message | undefined;
    await eventually(
      () =>
        `a message; there were ${JSON.stringify(this.messages)}, ${JSON.stringify(this.closed)}`,
      () => (found = this.messages.find(isWanted)) !== undefined,
    );
    this.messages.splice(0, this.messages.indexOf(found as Message) + 1);
    return found as Message;
  }

  /** The messages about a subscription that have not been taken yet. */
  take(id: string): Message[] {
    const own = this.messages.filter((message) => message.id === id);
    this.messages = this.messages.filter((message) => message.id !== id);
    return own;
  }

  async end(): Promise<{ code: number; reason: string }> {
    await eventually('the end of the connection', () => this.closed !== null);
    return this.closed as { code: number; reason: string };
  }
}

/** Whether each message matches the description of live connections. */
export async function checkMessages(url: string, messages: readonly Message[]): Promise<void> {
  const reply = await fetch(`${url}/api/v1/asyncapi.json`);
  const description = (await reply.json()) as { components: { schemas: object } };
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(description, 'live');
  for (const message of messages) {
    const name = `Live${message.type[0].toUpperCase()}${message.type.slice(1)}`;
    const check = ajv.compile({ $ref: `live#/components/schemas/${name}` });
    expect([message, check(message), check.errors]).toEqual([message, true, null]);
  }
}

export const timesOf = ({ snapshots = [] }: Message) => snapshots.map(({ t }) => t);

/** A client's snapshots; fails if a new one is already there. */
export class HeldSnapshots {
  private readonly byTime = new Map<number, object>();
  fault: string | null = null;
  /** Where it continues. */
  cursor: string | null = null;

  constructor(readonly name: string) {}

  take(message: Message): void {
    const { type, t, snapshots = [] } = message;
    this.cursor = message.cursor ?? this.cursor;
    if (type === 'reset' || type === 'error')
      this.fault ??= `${this.name}: ${JSON.stringify(message)}`;
    if (type === 'deleted') for (const one of t as number[]) this.byTime.delete(one);
    for (const one of snapshots) {
      if (type === 'snapshots' && this.byTime.has(one.t))
        this.fault ??= `${this.name}: ${one.t} twice`;
      this.byTime.set(one.t, one);
    }
  }

  /** As the pages of a replay would list them. */
  get text(): string {
    const inOrder = [...this.byTime].sort(([a], [b]) => a - b);
    return JSON.stringify(inOrder.map(([, one]) => one));
  }
}

/** A reply whose body breaks off after so many bytes. */
export function cutAfter(reply: Response, bytes: number): Response {
  let left = bytes;
  const cut = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left));
      left -= chunk.length;
      if (left <= 0) controller.error(new Error('cut'));
    },
  });
  return new Response(reply.body?.pipeThrough(cut), reply);
}
