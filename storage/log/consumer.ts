/** Consumers: what JetStream keeps for each reader of the log. This module makes, reads and deletes them. */
import { randomUUID } from 'node:crypto';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import {
  AckPolicy,
  type Consumer,
  type ConsumerConfig,
  type ConsumerInfo,
  type ConsumerMessages,
  DeliverPolicy,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { hasCode, NO_CONSUMER, NO_STREAM } from './jetstream-errors.js';

/** How many entries JetStream sends before the node has applied them. */
const MAX_FETCHED = 100;
/** The node gives up a consumer that misses two heartbeats. */
const HEARTBEAT_MS = 1000;
const FETCH_MS = 5000;
/** JetStream deletes a consumer after this time without requests for messages. */
const INACTIVE_MS = 30_000;
/** A consumer that is not made within this time may be assigned to a dead server: the node requests another one. */
const NEXT_ATTEMPT_MS = 500;
const MAX_ATTEMPTS = 5;
/** Pause before another attempt to delete a consumer that may still exist. */
const DELETE_AGAIN_MS = 5000;
const MAX_DELETIONS = 60;

export interface LogMessage {
  position: number;
  id: string;
  /** When the log received it. */
  timeMs: number;
  data: Uint8Array;
}

/** What to read: the entries from a position on, of one subject or of all. */
export interface Reading {
  stream: string;
  from: number;
  subject?: string;
}

export class LogConsumer {
  private constructor(
    private readonly manager: JetStreamManager,
    private readonly consumer: Consumer,
    private readonly made: ConsumerInfo,
  ) {}

  /**
   * Makes a consumer. It exists on one server only, and is lost with that server. JetStream assigns new consumers to a
   * killed server for a minute or more, so it may take several attempts.
   * @throws the error of the first attempt if all of them fail
   */
  static async make(
    manager: JetStreamManager,
    client: JetStreamClient,
    { stream, from, subject }: Reading,
  ): Promise<LogConsumer> {
    const found = new AbortController();
    const attempts = Array.from({ length: MAX_ATTEMPTS }, async (_, i) => {
      await sleep(i * NEXT_ATTEMPT_MS, undefined, { signal: found.signal });
      return attempt(manager, stream, {
        deliver_policy: DeliverPolicy.StartSequence,
        opt_start_seq: from,
        ...(subject === undefined ? {} : { filter_subject: subject }),
      });
    });
    try {
      const made = await Promise.any(attempts);
      // Deletes consumers that are made too late.
      for (const other of attempts) {
        void other.then((late) => (late === made ? undefined : remove(manager, late)), ignore);
      }
      return new LogConsumer(manager, client.consumers.getConsumerFromInfo(made), made);
    } catch (error) {
      throw (error as AggregateError).errors[0];
    } finally {
      found.abort();
    }
  }

  /** Entries that were still to be delivered when the consumer was made. */
  get left(): number {
    return this.made.num_pending;
  }

  /**
   * Yields entries until `stop`, in batches of those that have arrived.
   * @throws Error if the consumer sends no heartbeats
   */
  async *batches(stop: AbortSignal): AsyncGenerator<LogMessage[]> {
    const messages = await this.consumer.consume({
      max_messages: MAX_FETCHED,
      expires: FETCH_MS,
      idle_heartbeat: HEARTBEAT_MS,
      abort_on_missing_resource: true,
    });
    const end = (): void => messages.stop();
    stop.addEventListener('abort', end, { once: true });
    if (stop.aborted) end();
    void endWhenSilent(messages, this.made);
    try {
      yield* inBatches(messages);
    } finally {
      stop.removeEventListener('abort', end);
      messages.stop();
    }
  }

  /** Deletes the consumer; if its server is dead, the attempts continue in the background. */
  delete(): Promise<void> {
    return remove(this.manager, this.made);
  }
}

/** Makes a consumer; if it is made only after a timeout, it is deleted. */
async function attempt(
  manager: JetStreamManager,
  stream: string,
  reading: Partial<ConsumerConfig>,
): Promise<ConsumerInfo> {
  const name = randomUUID();
  try {
    return await manager.consumers.add(stream, {
      name,
      ack_policy: AckPolicy.None,
      mem_storage: true,
      num_replicas: 1,
      inactive_threshold: nanos(INACTIVE_MS),
      ...reading,
    });
  } catch (error) {
    // Its server may still make it when it returns.
    void remove(manager, { stream_name: stream, name });
    throw error;
  }
}

/**
 * Deletes a consumer, and retries in the background until JetStream says that it is gone. The consumer of a dead server
 * can be deleted only once JetStream has a leader again; otherwise it would stay forever.
 */
async function remove(
  manager: JetStreamManager,
  consumer: Pick<ConsumerInfo, 'stream_name' | 'name'>,
): Promise<void> {
  if (!(await isGone(manager, consumer))) void removeLater(manager, consumer);
}

async function removeLater(...[manager, consumer]: Parameters<typeof remove>): Promise<void> {
  for (let i = 1; i < MAX_DELETIONS; i++) {
    await sleep(DELETE_AGAIN_MS, undefined, { ref: false });
    if (await isGone(manager, consumer)) return;
  }
}

async function isGone(
  manager: JetStreamManager,
  { stream_name: stream, name }: Pick<ConsumerInfo, 'stream_name' | 'name'>,
): Promise<boolean> {
  try {
    return await manager.consumers.delete(stream, name);
  } catch (error) {
    return hasCode(error, NO_CONSUMER) || hasCode(error, NO_STREAM);
  }
}

const ignore = (): void => undefined;

/** Ends the messages of a silent consumer: otherwise its client would wait forever. */
async function endWhenSilent(messages: ConsumerMessages, { cluster }: ConsumerInfo): Promise<void> {
  for await (const { type } of messages.status()) {
    if (type !== 'heartbeats_missed') continue;
    const server = cluster?.leader ? ` on server ${cluster.leader}` : '';
    const seconds = (2 * HEARTBEAT_MS) / 1000;
    messages.stop(new Error(`the log's consumer${server} was silent for ${seconds} s`));
  }
}

/** The messages of an iterable in batches of those that have arrived. */
async function* inBatches(messages: AsyncIterable<JsMsg>): AsyncGenerator<LogMessage[]> {
  const iterator = messages[Symbol.asyncIterator]();
  const request = (): Promise<IteratorResult<JsMsg, unknown>> => {
    const next = iterator.next();
    // If it fails while a batch is being applied, the loop below throws the error when it awaits the next batch.
    next.catch(() => undefined);
    return next;
  };
  for (let next = request(); ;) {
    const first = await next;
    if (first.done === true) return;
    const batch = [logMessage(first.value)];
    next = request();
    while (batch.length < MAX_FETCHED && (await isSettled(next))) {
      const more = await next;
      if (more.done === true) break;
      batch.push(logMessage(more.value));
      next = request();
    }
    yield batch;
  }
}

function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  return Promise.race([settled, setImmediate(false)]);
}

function logMessage({ seq, headers, time, data }: JsMsg): LogMessage {
  const id = headers?.get('Nats-Msg-Id') ?? '';
  return { position: seq, id, timeMs: time.getTime(), data };
}
