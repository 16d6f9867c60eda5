/** The log of a cluster, in NATS JetStream: what `publisher.ts` appends to, and `node.ts` follows. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DiscardPolicy,
  jetstream,
  JetStreamApiError,
  jetstreamManager,
  type JetStreamClient,
  type JetStreamManager,
  type JetStreamPublishOptions,
  type PubAck,
  RetentionPolicy,
  StorageType,
  type StreamInfo,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { pack, unpackOrNull } from '../../compute/messagepack.js';
import { ABANDONED_AFTER_MS } from '../bundle.js';
import { adviceInDoubt, messageOf, PendingError, StoreUnavailableError } from '../errors.js';
import { wallMs } from '../wall-clock.js';
import { type NatsAccess, NatsLink, RECONNECT_MS } from './connection.js';
import { isNoResponders, NO_STREAM, nullWith, WRONG_LAST_SEQUENCE } from './jetstream-errors.js';
import { type LogMessage, LogReader } from './log-reader.js';
import { KEYS_SUBJECT, unpackEntry } from './entry.js';
import type { LogMark } from './mark.js';
import {
  firstOf,
  headersOf,
  nextOf,
  type Parts,
  PART_SUBJECTS,
  sendParts,
  trimmableTo,
} from './parts.js';
import type { Settings } from './settings.js';

const STREAM = 'FATHOM';
/** Subjects of entries. */
const SUBJECTS = 'fathom.v1.';
const STREAM_SUBJECTS = [`${SUBJECTS}>`, `${PART_SUBJECTS}>`];
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
/** After this time publish() gives up, and sendBundle() for each part. */
const PUBLISH_DEADLINE_MS = 10_000;
/** Room in a message for its id. */
const HEADERS_BYTES = 1024;

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
  /** Its first position, and that of its last entry; the last is 0 in an empty log. */
  first: number;
  last: number;
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

/** Parts of a large bundle were trimmed, because its entry did not come for a day. */
class BundleGoneError extends StoreUnavailableError {}

/** Nothing was published. */
export class LogUnreachableError extends StoreUnavailableError {}

interface Opened {
  manager: JetStreamManager;
  client: JetStreamClient;
}

export class JetStreamLog {
  private readonly link: NatsLink;
  private opened: Opened | null = null;
  private readonly reader = new LogReader(
    async () => (await this.open()).manager,
    STREAM,
    `${SUBJECTS}>`,
  );
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
    return found && stateOf(found, await this.reader.endOf(found.state));
  }

  private async make(manager: JetStreamManager): Promise<StreamInfo> {
    const settings = {
      name: STREAM,
      subjects: STREAM_SUBJECTS,
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
   * @param parts of the entry's large bundle; the entry is published only if the log still has them
   * @throws LogMovedError | BundleGoneError | LogUnreachableError | PendingError if it is unknown whether the log took it
   */
  async publish(
    subject: string,
    data: Uint8Array,
    id: string,
    { after, parts }: { after?: number; parts?: Parts | undefined } = {},
  ): Promise<Published> {
    const options = {
      msgID: id,
      ...(after !== undefined && { expect: { lastSequence: after } }),
      ...(parts && { headers: headersOf(parts) }),
    };
    const { seq, duplicate } = await this.send(`${SUBJECTS}${subject}`, data, options, parts);
    this.reader.moved(seq);
    this.broadcast(MOVED_TOPIC, seq);
    return { position: seq, isDuplicate: duplicate };
  }

  /**
   * Sends a large bundle to the log, before the entry that names its parts.
   * @throws InputError if it is too large | LogUnreachableError
   */
  sendBundle(file: string, bytes: number): Promise<Parts> {
    return sendParts(file, bytes, async (subject, data, msgID) => {
      try {
        return (await this.send(subject, data, { msgID })).seq;
      } catch (error) {
        // Parts alone change nothing.
        if (!(error instanceof PendingError)) throw error;
        throw new LogUnreachableError(
          `JetStream did not acknowledge a part of the change within ${PUBLISH_DEADLINE_MS / 1000} s: nothing was stored; try again`,
        );
      }
    });
  }

  private async send(
    subject: string,
    data: Uint8Array,
    options: Partial<JetStreamPublishOptions>,
    parts?: Parts,
  ): Promise<PubAck> {
    let isUnknown = false;
    const deadlineMs = performance.now() + PUBLISH_DEADLINE_MS;
    for (;;) {
      const connection = this.link.current;
      if (connection === null && !isUnknown) break;
      checkSize(data, connection?.info?.max_payload);
      try {
        const { client } = await this.open();
        if (parts !== undefined) await this.checkParts(parts);
        return await client.publish(subject, data, { timeout: ATTEMPT_MS, retries: 1, ...options });
      } catch (error) {
        if (error instanceof BundleGoneError && !isUnknown) throw error;
        if (error instanceof JetStreamApiError) {
          if (error.code === WRONG_LAST_SEQUENCE) throw new LogMovedError(error.message);
          // The log may have taken an earlier attempt whose answer was lost.
          if (!isUnknown) throw this.refused(error);
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
      `JetStream did not acknowledge the change within ${PUBLISH_DEADLINE_MS / 1000} s, and may or may not have taken it: ${adviceInDoubt(subject === `${SUBJECTS}${KEYS_SUBJECT}`)}`,
    );
  }

  /** Right before publishing: this process may have been paused for so long that the parts were trimmed. */
  private async checkParts(parts: Parts): Promise<void> {
    const { state } = await (await this.open()).manager.streams.info(STREAM);
    if (state.first_seq <= firstOf(parts)) return;
    throw new BundleGoneError(
      'the bundle waited too long and was removed: nothing was stored; try again',
    );
  }

  private refused(error: unknown): LogUnreachableError {
    this.options.onRefused?.(messageOf(error));
    return new LogUnreachableError(`JetStream refused it: ${messageOf(error)}; nothing was stored`);
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

  /**
   * The cluster's settings at the end of the log: those of a store, with the changes in entries that it has yet to apply.
   * @param mark of the store; null if it has followed no log yet
   * @returns the settings, and the position of the entry that changed them last, or of the store
   * @throws Error if JetStream does not answer
   */
  async settings(
    known: Settings,
    mark: LogMark | null,
  ): Promise<{ settings: Settings; position: number }> {
    let settings = known;
    let position = mark?.position ?? 0;
    const state = await this.state();
    // The node will stop at a log that its store has not followed.
    if (state === null || (mark !== null && mark.logId !== state.id)) return { settings, position };
    for (const subject of mark === null ? ['origin', 'settings'] : ['settings']) {
      for (;;) {
        const message = await this.reader.find(nextOf(`${SUBJECTS}${subject}`, position + 1));
        if (message === null) break;
        position = message.position;
        const entry = unpackEntry(message.data);
        if ('settings' in entry) settings = { ...settings, ...entry.settings };
      }
    }
    return { settings, position };
  }

  /**
   * Removes the entries up to a position, but keeps what a later entry needs: it never goes past the first part of a
   * bundle whose entry comes later, or may still come.
   * @param abandonedAfterMs how old the parts of a bundle without an entry must be, by this machine's clock and by the
   *   times of the log
   * @returns the position after which the log begins, and how many positions were freed
   */
  async trim(
    position: number,
    abandonedAfterMs: number = ABANDONED_AFTER_MS,
  ): Promise<{ to: number; freed: number }> {
    const { manager } = await this.open();
    const { state } = await manager.streams.info(STREAM);
    const sentBeforeMs = Math.min(wallMs(), Date.parse(state.last_ts)) - abandonedAfterMs;
    const large = `${SUBJECTS}${LARGE_SUBJECT}`;
    const to = await trimmableTo(manager, STREAM, { to: position, large, sentBeforeMs });
    if (to < state.first_seq) return { to: state.first_seq - 1, freed: 0 };
    const { purged } = await manager.streams.purge(STREAM, { seq: to + 1 });
    return { to, freed: purged };
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

  /** JetStream, for what nodes keep there beside the log. @throws LogUnreachableError */
  async open(): Promise<Opened> {
    if (this.opened !== null) return this.opened;
    await this.connected(ATTEMPT_MS);
    const connection = await this.link.connecting;
    const manager = await jetstreamManager(connection, { timeout: ATTEMPT_MS });
    const client = jetstream(connection, { timeout: ATTEMPT_MS });
    this.opened = { manager, client };
    return this.opened;
  }
}

/** A smaller limit than a message needs refuses it for good. @throws LogUnreachableError */
function checkSize({ length }: Uint8Array, maxBytes = Infinity): void {
  if (length + HEADERS_BYTES <= maxBytes) return;
  throw new LogUnreachableError(
    `the server of JetStream takes messages of at most ${Math.floor(maxBytes / 1024)} KiB: nothing was stored; set its max_payload to 1MB, as it is by default`,
  );
}

function stateOf({ config, state }: StreamInfo, last: number): LogState {
  return {
    id: config.description ?? '',
    first: state.first_seq,
    last,
    bytes: state.bytes,
    replicas: config.num_replicas,
    fault: faultOf(config),
  };
}

/** How a log differs from one made by a node; null if not in anything relevant: such a stream may lose entries. */
function faultOf(config: StreamInfo['config']): string | null {
  const isRight: Readonly<Record<string, boolean>> = {
    subjects: STREAM_SUBJECTS.every((subject) => config.subjects?.includes(subject)),
    description: Boolean(config.description),
    retention: config.retention === RetentionPolicy.Limits,
    max_msgs_per_subject: config.max_msgs_per_subject <= 0,
    max_msgs: config.max_msgs <= 0,
    max_msg_size: (config.max_msg_size ?? -1) <= 0,
    max_bytes: config.max_bytes <= 0,
    max_age: config.max_age <= 0,
  };
  const wrong = Object.keys(isRight).filter((name) => !isRight[name]);
  return wrong.length === 0
    ? null
    : `the stream ${STREAM} has other settings than a node gives it (${wrong.join(', ')}): if it is empty, delete it, and a node creates it again`;
}
