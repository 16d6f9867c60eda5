/** A client that follows a token's depth and moves from node to node with its cursor. */
import { expect } from 'vitest';
import WebSocket from 'ws';
import type { ReplayPage } from '../../client/index.js';
import type { NodeProcess } from '../support/cluster.js';
import { HeldSnapshots, type Message } from '../support/live-client.js';
import { eventually } from '../support/waiting.js';

/** Most messages that it takes from one node. */
const MAX_MESSAGES = 5;
/** It tries the next node after this time. */
const RETRY_MS = 100;

export class Wanderer {
  /** Number of nodes to which it has connected. */
  moves = 0;
  private cursor: string | null = null;
  private socket: WebSocket | null = null;
  private isOver = false;

  constructor(
    private readonly nodes: readonly NodeProcess[],
    private readonly key: string,
    private readonly start: { address: string; from: number },
    private readonly below: (end: number) => number,
    readonly held: HeldSnapshots = new HeldSnapshots(start.address),
  ) {
    this.connect();
  }

  stop(): void {
    this.isOver = true;
    this.socket?.terminate();
  }

  private connect(): void {
    const { url } = this.nodes[this.below(this.nodes.length)];
    const headers = { 'x-api-key': this.key };
    const socket = new WebSocket(`${url.replace('http', 'ws')}/api/v1/stream`, { headers });
    this.socket = socket;
    let left = 1 + this.below(MAX_MESSAGES);
    socket.on('open', () => {
      this.moves++;
      const { address, from } = this.start;
      const where = this.cursor === null ? { from } : { cursor: this.cursor };
      const subscription = { op: 'subscribe', id: 'a', channel: 'depth', group: 'all', address };
      socket.send(JSON.stringify({ ...subscription, ...where }));
    });
    socket.on('message', (data: Buffer) => {
      if (left === 0) return;
      const message = JSON.parse(data.toString()) as Message;
      this.held.take(message);
      ({ cursor: this.cursor = this.cursor } = message);
      left--;
      // Everywhere else the messages are the same.
      if (left === 0) socket.terminate();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (!this.isOver) setTimeout(() => this.connect(), this.below(RETRY_MS));
    });
  }
}

/** Waits until a client has what the node's pages show, then ends it. */
export async function expectHeard(
  wanderer: Wanderer,
  node: NodeProcess,
  key: string,
  fromS: number,
): Promise<void> {
  const { held } = wanderer;
  let shown = '';
  await eventually(
    () => `${held.name} has ${shown} after ${wanderer.moves} moves; it has ${held.text}`,
    async () => {
      shown = await shownBy(node, held.name, key, fromS);
      return held.fault !== null || held.text === shown;
    },
  );
  expect([held.fault, wanderer.moves]).toEqual([null, expect.any(Number)]);
  wanderer.stop();
}

async function shownBy(node: NodeProcess, address: string, key: string, fromS: number) {
  const snapshots: object[] = [];
  for (let from: number | null = fromS; from !== null;) {
    const reply = await node.get(`/replay/${address}?from=${from}&group=all`, key);
    const page = (await reply.json()) as ReplayPage;
    snapshots.push(...page.snapshots);
    from = page.next_from;
  }
  return JSON.stringify(snapshots);
}
