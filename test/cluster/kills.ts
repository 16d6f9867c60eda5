/** Ends JetStream servers in sequence, and measures how soon all nodes acknowledge changes again. */
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../bench/random.js';
import type { NatsServers } from '../../bench/nats.js';
import type { NodeProcess } from '../support/cluster.js';
import { commitRows, snapshot } from '../support/stores.js';

const STREAM = 'FATHOM';
const REST_MS = 100;
/** Time of the first change; each change has a different one. */
const T0 = 1_790_000_000;

interface Kill {
  server: string;
  /** Whether it led the log's stream. */
  led: boolean;
  /** From the kill until the log has a leader, checked every 100 ms. */
  logMs: number;
  /** By node: from the kill until the node acknowledges a change made after the kill. */
  tookMs: number[];
}

export class ServerKills {
  private changes = 0;
  /** Retries soon if no server answers. */
  private impatient!: JetStreamManager;
  private readonly random: () => number;

  constructor(
    private readonly servers: NatsServers,
    private readonly nodes: readonly NodeProcess[],
    seed: number,
  ) {
    this.random = seededRandom(seed);
  }

  /**
   * Kills servers, alternately the one that leads the log's stream, and any server.
   * @param onKill called after each kill, once all nodes have acknowledged a change
   */
  async run(kills: number, onKill: (kill: Kill) => void): Promise<Kill[]> {
    const connection = await connect({ servers: this.servers.urls, maxReconnectAttempts: -1 });
    try {
      const manager = await jetstreamManager(connection, { timeout: 10_000, checkAPI: false });
      this.impatient = await jetstreamManager(connection, { timeout: 500, checkAPI: false });
      const made: Kill[] = [];
      for (let i = 0; i < kills; i++) {
        const kill = await this.kill(manager, i % 2 === 1);
        onKill(kill);
        made.push(kill);
      }
      return made;
    } finally {
      await connection.close();
    }
  }

  private async kill(manager: JetStreamManager, isAny: boolean): Promise<Kill> {
    const leader = await leaderWhenComplete(manager);
    const names = ['n0', 'n1', 'n2'];
    const server = isAny ? names[Math.floor(this.random() * names.length)] : leader;

    await this.servers.kill(names.indexOf(server));
    const [tookMs, logMs] = await Promise.all([this.acknowledged(), this.logRecovery(server)]);
    this.servers.start(names.indexOf(server));
    return { server, led: server === leader, logMs, tookMs };
  }

  /** @returns how long the log has no leader after the end of a server */
  private async logRecovery(ended: string): Promise<number> {
    const beganMs = performance.now();
    for (;;) {
      const info = await this.impatient.streams.info(STREAM).catch(() => null);
      // A server that has not noticed the end still names the dead server as leader.
      const leader = info?.cluster?.leader;
      if (leader && leader !== ended) return performance.now() - beganMs;
      await sleep(REST_MS);
    }
  }

  /** Gives each node changes until it acknowledges one. @returns the time that each node took */
  private async acknowledged(): Promise<number[]> {
    const beganMs = performance.now();
    return Promise.all(
      this.nodes.map(async (node) => {
        for (;;) {
          const rows = [snapshot(T0 + this.changes++)];
          const report = await node.command((store) => commitRows(store, rows)).catch(() => null);
          if (report !== null) return performance.now() - beganMs;
          await sleep(REST_MS);
        }
      }),
    );
  }
}

/** The leader of the log's stream, once all servers have the whole stream. */
async function leaderWhenComplete(manager: JetStreamManager): Promise<string> {
  for (;;) {
    const info = await manager.streams.info(STREAM).catch(() => null);
    const followers = info?.cluster?.replicas ?? [];
    const isWhole = followers.length === 2 && followers.every((one) => one.current && !one.offline);
    if (info?.cluster?.leader && isWhole) return info.cluster.leader;
    await sleep(REST_MS);
  }
}
