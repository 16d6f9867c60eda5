/** NATS JetStream servers that tests and the benchmark start, kill and restart. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram, freePorts } from './programs.js';

const PROGRAM = findProgram('nats-server');
/** Without it, tests that need servers are skipped. */
export const hasNats = PROGRAM !== null;

export class NatsServers {
  private readonly root = mkdtempSync(path.join(tmpdir(), 'fathom-nats-'));
  private readonly children: (ChildProcess | null)[] = [];

  private constructor(
    private readonly ports: readonly number[],
    private readonly routes: readonly number[],
    private readonly config: string | null,
  ) {}

  /**
   * @param count 1, or 3 with replication
   * @param config more configuration, as text
   */
  static async start(count: 1 | 3, config: string | null = null): Promise<NatsServers> {
    const ports = await freePorts(2 * count);
    const servers = new NatsServers(ports.slice(0, count), ports.slice(count), config);
    for (let i = 0; i < count; i++) servers.start(i);
    for (const port of servers.ports) await untilOpen(port);
    return servers;
  }

  get urls(): string[] {
    return this.ports.map((port) => `nats://127.0.0.1:${port}`);
  }

  start(index: number): void {
    const words = ['-js', '-a', '127.0.0.1', '-p', String(this.ports[index])];
    words.push('-sd', path.join(this.root, String(index)));
    if (this.config !== null) {
      const file = path.join(this.root, 'nats-server.conf');
      writeFileSync(file, this.config);
      words.push('-c', file);
    }
    if (this.ports.length > 1) {
      const routes = this.routes.map((port) => `nats-route://127.0.0.1:${port}`).join(',');
      words.push('-n', `n${index}`, '--cluster_name', 'test', '--routes', routes);
      words.push('--cluster', `nats://127.0.0.1:${this.routes[index]}`);
    }
    this.children[index] = spawn(PROGRAM ?? '', words, { stdio: 'ignore' });
  }

  /** @param forgetful whether to delete what it stored */
  async kill(index: number, forgetful = false): Promise<void> {
    const child = this.children[index];
    this.children[index] = null;
    if (child === null) return;
    const gone = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGCONT');
    child.kill('SIGKILL');
    await gone;
    if (forgetful) rmSync(path.join(this.root, String(index)), { recursive: true, force: true });
  }

  /** Pauses or resumes a server. */
  pause(index: number, isPaused: boolean): void {
    this.children[index]?.kill(isPaused ? 'SIGSTOP' : 'SIGCONT');
  }

  async close(): Promise<void> {
    await Promise.all(this.children.map((_, index) => this.kill(index)));
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function untilOpen(port: number): Promise<void> {
  for (;;) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
    if (isOpen) return;
    await sleep(50);
  }
}
