/** A live connection of a client, which notes when it received each snapshot. */
import type { HeardMs } from './times.js';

export interface LiveClient {
  readonly address: string;
  readonly heardMs: HeardMs;
  /** Heartbeats received. */
  readonly heartbeats: number;
  /** Connects and subscribes; when reconnecting, with the cursor of the last message. @throws Error */
  connect(): Promise<void>;
  /** Stops reading. */
  stall(): void;
  close(): void;
}
