/** The log in NATS JetStream. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DiscardPolicy,
  jetstream,
  JetStreamApiError,
  jetstreamManager,
  type JetStreamClient,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamInfo,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { pack, unpackOrNull } from '../../compute/messagepack.js';
import { adviceInDoubt, messageOf, PendingError, StoreUnavailableError } from '../errors.js';
import { type NatsAccess, NatsLink, RECONNECT_MS } from './connection.js';
import { isNoResponders, NO_STREAM, nullWith, WRONG_LAST_SEQUENCE } from './jetstream-errors.js';
import { LargeBundles } from './large-bundles.js';
import { type LogMessage, LogReader } from './log-reader.js';
import { KEYS_SUBJECT } from './log-writer.js';
import { NodeReports } from './reports.js';

const STREAM = 'FATHOM';
const SUBJECTS = 'fathom.v1.';
/** Subject of entries with a large bundle. */
export const LARGE_SUBJECT = 'large';
/** Subjects of messages between nodes, which are not entries. */
const TOPICS = 'fathom-nodes.';
/** A message that is published again within this time does not become a second entry. */
const DUPLICATE_WINDOW_MS = 10 * 60_000;
/** Topic of a message that the log has a new entry; it carries the entry's position. */
const MOVED_TOPIC = 'moved';
/** How long nodes may take to answer. */
const ANSWER_MS = 1000;
/** Time limit of one attempt to publish, or to request the log's state. */
const ATTEMPT_MS = 2500;
/** After this time publish() gives up. */
const PUBLISH_DEADLINE_MS = 10_000;

interface LogOptions extends NatsAccess {
  /** The connection's name, for operators of NATS. */
  name: string;
  /** Copies of each entry. */
  replicas: number;
  /** Called with the reason when JetStream refuses a change, such as for lack of room. */
  onRefused?: (why: string) => void;
}

export interface LogState {
  /** Distinguishes this log from an earlier or later one with the same name. */
  id: string;
  /** Positions of its first and last entries; the last is 0 in an empty log. */
  first: number;
  last: number;
  /** When JetStream received the last entry, in epoch milliseconds. */
  lastMs: number;
  bytes: number;
  replicas: number;
  /** Why nodes cannot follow the log (another program made or changed it); null if they can. */
  fault: string | null;
}

/** The place of an entry in the log; an entry that was published before keeps its place. */
interface Published {
  position: number;
  isDuplicate: boolean;
}

/** The log's last entry is not the expected one. */
export class LogMovedError extends Error {}

/** A large bundle was removed because no entry referred to it for a day. */
class BundleGoneError extends StoreUnavailableError {}

/** Nothing was published. */
export class LogUnreachableError extends StoreUnavailableError {}

interface Opened {
  manager: JetStreamManager;
  client: JetStreamClient;
}

export class JetStreamLog {
  readonly bundles = new LargeBundles(() => this.openSeparate());
  readonly reports = new NodeReports(() => this.openSeparate());
  private readonly link: NatsLink;
  private opened: Opened | null = null;
  private readonly reader = new LogReader(async () => (await this.open()).manager, STREAM);
  private listening: Promise<void> | null = null;

  /** @throws InputError if the file of credentials is malformed */
  constructor(private readonly options: LogOptions) {
    this.link = new NatsLink(options, options.name);
  }

  /** Why there is no connection, as ` (...)`; empty if there is one. */
  get reason(): string {
    return this.link.reason;
  }

  /** Resolves once there is a connection. @throws LogUnreachableError if there is none in time */
  async connected(withinMs: number): Promise<void> {
    const late = sleep(withinMs).then(() => {
      throw new LogUnreachableError(`JetStream is unreachable${this.reason}`);
    });
    await Promise.race([this.link.connecting, late]);
  }

  /**
   * The state of the log; null if there is none.
   * @param makes whether to make a missing log
   * @throws Error if no server answers
   */
  async state(makes = false): Promise<LogState | null> {
    const { manager } = await this.open();
    const known = await manager.streams.info(STREAM).catch(nullWith(NO_STREAM));
    const found = known === null && makes ? await this.make(manager) : known;
    if (found?.cluster && !found.cluster.leader) {
      throw new LogUnreachableError('the log has no leader: too few servers of JetStream agree');
    }
    this.reader.endsAt(found?.state.last_seq ?? 0);
    return found && stateOf(found);
  }

  private async make(manager: JetStreamManager): Promise<StreamInfo> {
    const settings = {
      name: STREAM,
      subjects: [`${SUBJECTS}>`],
      description: randomUUID(),
      storage: StorageType.File,
      retention: RetentionPolicy.Limits,
      discard: DiscardPolicy.New,
      num_replicas: this.options.replicas,
      duplicate_window: nanos(DUPLICATE_WINDOW_MS),
    };
    return manager.streams.add(settings).catch((error: unknown) =>
      // Another node may have made it in the meantime.
      manager.streams.info(STREAM).catch(() => {
        const copies = this.options.replicas;
        throw new Error(
          `JetStream does not make the log with ${copies} ${copies === 1 ? 'copy' : 'copies'} of each entry: ${messageOf(error)}`,
        );
      }),
    );
  }

  /**
   * Publishes an entry; retries until a deadline.
   * @param id of the entry: the log takes only one entry per id
   * @param after the greatest position at which the log may end
   * @param bundle the large bundle to which the entry refers; the entry is published only if the bundle is there
   * @throws LogMovedError | BundleGoneError | LogUnreachableError | PendingError if it is unknown whether the log took it
   */
  async publish(
    subject: string,
    data: Uint8Array,
    id: string,
    { after, bundle }: { after?: number; bundle?: string } = {},
  ): Promise<Published> {
    let isUnknown = false;
    const deadlineMs = performance.now() + PUBLISH_DEADLINE_MS;
    for (;;) {
      if (this.link.current === null && !isUnknown) break;
      try {
        const { client } = await this.open();
        // Checked right before publishing: this process may have been paused for so long that the bundle was removed.
        if (bundle !== undefined && !(await this.bundles.has(bundle))) {
          throw new BundleGoneError(
            'the bundle waited too long and was removed: nothing was stored; try again',
          );
        }
        const expect = after === undefined ? {} : { expect: { lastSequence: after } };
        const options = { msgID: id, timeout: ATTEMPT_MS, retries: 1, ...expect };
        const { seq, duplicate } = await client.publish(`${SUBJECTS}${subject}`, data, options);
        this.reader.moved(seq);
        this.broadcast(MOVED_TOPIC, seq);
        return { position: seq, isDuplicate: duplicate };
      } catch (error) {
        if (error instanceof BundleGoneError && !isUnknown) throw error;
        if (error instanceof JetStreamApiError) {
          if (error.code === WRONG_LAST_SEQUENCE) throw new LogMovedError(error.message);
          // The log may have taken an earlier attempt whose answer was lost.
          if (!isUnknown) throw this.refused('refused it', error);
        }
        isUnknown ||= !isNoResponders(error);
      }
      if (performance.now() >= deadlineMs) break;
      await sleep(RECONNECT_MS);
    }
    if (!isUnknown) {
      throw new LogUnreachableError(
        `JetStream is unreachable: nothing was stored; try again when it answers${this.reason}`,
      );
    }
    throw new PendingError(
      `JetStream did not acknowledge the change within ${PUBLISH_DEADLINE_MS / 1000} s, and may or may not have taken it: ${adviceInDoubt(subject === KEYS_SUBJECT)}`,
    );
  }

  /**
   * Yields the entries from a position on, in batches, until `stop` or until the connection is lost. It waits while the
   * log lacks the next one.
   * @throws Error if JetStream does not answer
   */
  async *follow(from: number, stop: AbortSignal): AsyncGenerator<LogMessage[]> {
    this.listening ??= this.listen(MOVED_TOPIC, (position) => this.reader.moved(position)).catch(
      () => undefined,
    );
    yield* this.reader.follow(from, AbortSignal.any([stop, this.link.lost]));
  }

  /** The id of the entry at a position; null if the log lacks that entry. */
  async idAt(position: number): Promise<string | null> {
    return (await this.reader.find({ seq: position }))?.id ?? null;
  }

  /** Stores a large bundle beside the log. @throws LogUnreachableError */
  async putBundle(name: string, content: ReadableStream<Uint8Array>): Promise<void> {
    if (this.link.current === null) {
      throw new LogUnreachableError(`JetStream is unreachable: nothing was stored${this.reason}`);
    }
    try {
      await this.bundles.put(name, content, PUBLISH_DEADLINE_MS);
    } catch (error) {
      throw this.refused('did not take it', error);
    }
  }

  private refused(did: string, error: unknown): LogUnreachableError {
    this.options.onRefused?.(messageOf(error));
    return new LogUnreachableError(`JetStream ${did}: ${messageOf(error)}; nothing was stored`);
  }

  /** Removes the entries up to a position. @returns how many */
  async trim(position: number): Promise<number> {
    const { manager } = await this.open();
    const { purged } = await manager.streams.purge(STREAM, { seq: position + 1 });
    return purged;
  }

  /** The position of the last entry with a large bundle, as known to the log's leader; 0 if there is none. */
  async lastLarge(): Promise<number> {
    const found = await this.reader.find({ last_by_subj: `${SUBJECTS}${LARGE_SUBJECT}` });
    return found?.position ?? 0;
  }

  /** The entries with large bundles from one position to another. */
  async *largeEntries(from: number, to: number): AsyncGenerator<LogMessage> {
    const of = { next_by_subj: `${SUBJECTS}${LARGE_SUBJECT}` };
    for (let next = from; ;) {
      const found = await this.reader.find({ seq: next, ...of });
      if (found === null || found.position > to) return;
      yield found;
      next = found.position + 1;
    }
  }

  /** Sends a message to every node; it may be lost. */
  broadcast(topic: string, message: unknown): void {
    this.link.current?.publish(`${TOPICS}${topic}`, pack(message));
  }

  /**
   * Calls `listener` with each message from a node, including this one. If the sender asked, it gets the result as an
   * answer.
   */
  async listen<T>(topic: string, listener: (message: T) => unknown): Promise<void> {
    const connection = await this.link.connecting;
    connection.subscribe(`${TOPICS}${topic}`, {
      callback: (error, message) => {
        if (error !== null) return;
        try {
          const answer = listener(unpackOrNull<T>(message.data) as T);
          if (answer !== undefined) message.respond(pack(answer));
        } catch {
          // An error here would end the connection, and a later version may send messages that this one does not understand.
        }
      },
    });
  }

  /** The answers of the nodes. @throws LogUnreachableError */
  async ask<T>(topic: string): Promise<T[]> {
    const connection = this.link.current;
    if (connection === null)
      throw new LogUnreachableError(`JetStream is unreachable${this.reason}`);
    const answers: T[] = [];
    const options = { strategy: 'timer' as const, maxWait: ANSWER_MS };
    try {
      for await (const message of await connection.requestMany(`${TOPICS}${topic}`, '', options)) {
        const answer = unpackOrNull<T>(message.data);
        if (answer !== null) answers.push(answer);
      }
    } catch (error) {
      if (!isNoResponders(error)) throw error;
    }
    return answers;
  }

  async close(): Promise<void> {
    await this.link.close();
  }

  /** For the streams beside the log, which have as many copies as the log. */
  private async openSeparate(): Promise<Opened & { copies: () => Promise<number> }> {
    const opened = await this.open();
    const copies = async (): Promise<number> =>
      (await opened.manager.streams.info(STREAM)).config.num_replicas;
    return { ...opened, copies };
  }

  private async open(): Promise<Opened> {
    if (this.opened !== null) return this.opened;
    await this.connected(ATTEMPT_MS);
    const connection = await this.link.connecting;
    const manager = await jetstreamManager(connection, { timeout: ATTEMPT_MS });
    const client = jetstream(connection, { timeout: ATTEMPT_MS });
    this.opened = { manager, client };
    return this.opened;
  }
}

function stateOf({ config, state }: StreamInfo): LogState {
  return {
    id: config.description ?? '',
    first: state.first_seq,
    last: state.last_seq,
    lastMs: Date.parse(state.last_ts),
    bytes: state.bytes,
    replicas: config.num_replicas,
    fault: faultOf(config),
  };
}

/** How a log differs from one made by a node; null if not in anything relevant: such a stream may lose entries. */
function faultOf(config: StreamInfo['config']): string | null {
  const isRight: Readonly<Record<string, boolean>> = {
    subjects: config.subjects?.includes(`${SUBJECTS}>`) === true,
    description: Boolean(config.description),
    retention: config.retention === RetentionPolicy.Limits,
    max_msgs_per_subject: config.max_msgs_per_subject <= 0,
    max_msgs: config.max_msgs <= 0,
    max_bytes: config.max_bytes <= 0,
    max_age: config.max_age <= 0,
  };
  const wrong = Object.keys(isRight).filter((name) => !isRight[name]);
  return wrong.length === 0
    ? null
    : `the stream ${STREAM} has other settings than a node gives it (${wrong.join(', ')}): if it is empty, delete it, and a node creates it again`;
}
