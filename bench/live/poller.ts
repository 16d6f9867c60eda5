/** A client without live connections: it requests the pages of one token at a steady rate. */
import { Connection } from '../load/connection.js';
import { type HeardMs, noteTimes } from './times.js';
import { VIEW } from './view.js';

const OK = 200;
/** The server is too busy: the next request tries again. */
const BUSY = 503;

export class Poller {
  readonly heardMs: HeardMs = new Map();
  requests = 0;
  /** How many of them were refused because the server was busy. */
  refused = 0;
  private connection: Connection | null = null;
  private timer: NodeJS.Timeout | null = null;
  private isWaiting = false;

  /** @param fromS the time of the first snapshot that it lacks */
  constructor(
    private readonly port: number,
    private readonly key: string,
    readonly address: string,
    private fromS: number,
  ) {}

  /** Requests a page every `everyMs`, but never before the last reply has arrived. Failures go to `onFailure`. */
  async start(everyMs: number, onFailure: (error: Error) => void): Promise<void> {
    this.connection = await Connection.open(this.port, onFailure);
    this.timer = setInterval(() => this.ask(onFailure), everyMs);
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.connection?.close();
  }

  private ask(onFailure: (error: Error) => void): void {
    if (this.isWaiting) return;
    this.isWaiting = true;
    this.requests++;
    const query = Object.entries({ from: this.fromS, ...VIEW }).map(([k, v]) => `${k}=${v}`);
    const path = `/api/v1/replay/${this.address}?${query.join('&')}`;
    const head = `GET ${path} HTTP/1.1\r\nhost: bench\r\nx-api-key: ${this.key}\r\n\r\n`;
    this.connection?.ask(head, (status, body) => {
      this.isWaiting = false;
      if (status === BUSY) this.refused++;
      else if (status !== OK) onFailure(new Error(`expected ${OK}, got ${status}`));
      if (status !== OK) return;
      noteTimes(body, performance.now(), this.heardMs);
      for (const t of this.heardMs.keys()) this.fromS = Math.max(this.fromS, t + 1);
    });
  }
}
