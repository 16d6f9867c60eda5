/** Cluster nodes as processes that a test kills, stops and restarts. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { StoreOperations } from '../../storage/operations.js';
import { connectToServer } from '../../storage/control.js';
import type { Store } from '../../storage/store.js';
import { freePorts } from '../../bench/programs.js';
import { MAIN } from './processes.js';
import { eventually } from './waiting.js';
import { DataDirectory } from './stores.js';

export class NodeProcess {
  readonly directory = new DataDirectory();
  private child: ChildProcess | null = null;
  output = '';

  private constructor(
    readonly name: string,
    private readonly servers: readonly string[],
    private readonly port: number,
    private readonly environment: Record<string, string>,
  ) {}

  static async start(
    name: string,
    servers: readonly string[],
    environment: Record<string, string> = {},
  ): Promise<NodeProcess> {
    const [port] = await freePorts(1);
    const node = new NodeProcess(name, servers, port, environment);
    node.start();
    return node;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  start(): void {
    const words = ['serve', '--data', this.directory.path, '--port', String(this.port)];
    words.push(
      '--log-level',
      'warn',
      '--threads',
      '1',
      '--cluster',
      this.servers.join(','),
      '--node',
      this.name,
    );
    this.child = spawn(process.execPath, [MAIN, ...words], {
      env: { ...process.env, ...this.environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.child.stderr?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
  }

  get pid(): number {
    return this.child?.pid as number;
  }

  pause(isPaused: boolean): void {
    this.child?.kill(isPaused ? 'SIGSTOP' : 'SIGCONT');
  }

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const { child } = this;
    this.child = null;
    if (child === null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGCONT');
    child.kill(signal);
    await gone;
  }

  /** The answer of /readyz; null if there is none. */
  async readiness(): Promise<{ status: string; position: number; reasons?: string[] } | null> {
    const request = fetch(`${this.url}/readyz`, { signal: AbortSignal.timeout(3000) });
    return request.then((reply) => reply.json() as never).catch(() => null);
  }

  /** Waits until the node is ready, at this position or a later one. */
  async ready(position = 0): Promise<number> {
    let last: Awaited<ReturnType<NodeProcess['readiness']>> = null;
    const what = () =>
      `${this.name} is ready: ${JSON.stringify(last)}\n${this.output.slice(-2000)}`;
    const isReady = async (): Promise<boolean> => {
      last = await this.readiness();
      return last?.status === 'ready' && last.position >= position;
    };
    await eventually(what, isReady, 100);
    return last!.position;
  }

  /** Runs `body` with the store as a command sees it. */
  async command<T>(body: (store: Store) => Promise<T>): Promise<T> {
    const remote = await connectToServer(this.directory.path);
    if (remote === null) throw new Error(`${this.name} takes no commands`);
    const store: StoreOperations = remote;
    try {
      return await body({ ...store, directory: this.directory.path } as unknown as Store);
    } finally {
      remote.close();
    }
  }

  get(path: string, key: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.url}/api/v1${path}`, { headers: { 'x-api-key': key, ...headers } });
  }

  async close(): Promise<void> {
    await this.kill();
  }
}
