/**
 * Bounds the open connections, which leaves descriptors for the logger, the store and commands. A process without free
 * descriptors can neither accept a connection nor refuse it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { InputError } from '../../storage/errors.js';
import { Trouble } from '../../storage/trouble.js';
import type { Logger } from '../logger.js';

/** Half of the descriptors that are free at the start are kept for other things, at most this many. */
const MAX_SPARE_DESCRIPTORS = 256;
/** A start briefly opens about 220 files, because the program's modules are read in parallel. */
const LEAST_DESCRIPTORS = 256;
/** The most descriptors that are reserved for connections to the operators' port. */
const MAX_ADMIN_CONNECTIONS = 64;
/** Counts of the descriptors in use take at most one part in this many of the time: one of 20,000 takes about 10 ms. */
const COUNT_PARTS = 50;

export class ConnectionLimit {
  private open = 0;
  /** Of the WebSockets that have ended since the last count, and of descriptors opened for other things. */
  private lingering = 0;
  private nextCountMs = 0;
  private readonly shortage: Trouble<void>;

  /**
   * @param limit connections open at a time
   * @param others descriptors in use that are no connections
   */
  constructor(
    private readonly limit: number,
    private readonly others: number,
    logger: Logger,
  ) {
    this.shortage = new Trouble({
      onBegan: () =>
        logger.atWill('warn', 'out of descriptors: connections beyond these are closed at once', {
          connections: limit,
        }),
      onOver: () =>
        logger.atWill('info', 'connections are accepted again', { connections: this.open }),
    });
  }

  /** Counts a connection. False: it exceeds the limit, and the caller closes it. */
  opened(): boolean {
    this.open++;
    if (this.used > this.limit || this.shortage.lasts) this.count();
    if (this.used <= this.limit) return true;
    this.shortage.began('full');
    return false;
  }

  closed(): void {
    this.open--;
    this.endShortage();
  }

  /**
   * Counts a connection that has ended but may still have its descriptor: the engine keeps it until the client closes
   * it too, or for a time, and does not report when.
   */
  ended(): void {
    this.open--;
    this.lingering++;
  }

  private get used(): number {
    return this.open + this.lingering;
  }

  private count(): void {
    const beganMs = performance.now();
    if (this.lingering === 0 || beganMs < this.nextCountMs) return;
    try {
      this.lingering = Math.max(0, usedDescriptors() - this.others - this.open);
    } catch {
      // Counting takes a descriptor, too: without one, those that linger still count.
    }
    this.nextCountMs = beganMs + COUNT_PARTS * (performance.now() - beganMs);
    this.endShortage();
  }

  private endShortage(): void {
    if (this.used <= this.limit / 2) this.shortage.over();
  }
}

/** The limits of the API's port and of the operators'. */
export function connectionLimits(logger: Logger): { api: ConnectionLimit; admin: ConnectionLimit } {
  const limit = descriptorLimit();
  const used = limit === Infinity ? 0 : usedDescriptors();
  const free = limit - used;
  const spare = Math.min(Math.ceil(free / 2), MAX_SPARE_DESCRIPTORS);
  const admin = Math.min(Math.ceil(spare / 4), MAX_ADMIN_CONNECTIONS);
  return {
    api: new ConnectionLimit(Math.max(free - spare, 1), used, logger),
    admin: new ConnectionLimit(admin, used, logger),
  };
}

/**
 * Call before a server's modules are loaded: without a free descriptor, Node may report a missing package.
 * @throws InputError if the limit on open files is too low to start
 */
export function checkDescriptors(): void {
  const limit = descriptorLimit();
  if (limit >= LEAST_DESCRIPTORS) return;
  throw new InputError(
    `the limit on open files is ${limit}: a server needs ${LEAST_DESCRIPTORS}, and one for each connection (ulimit -n, or LimitNOFILE of its unit)`,
  );
}

/** The limit on Linux; Infinity on other systems. */
function descriptorLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}

function usedDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}
