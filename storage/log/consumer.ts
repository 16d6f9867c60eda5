/** A consumer of the log: what JetStream keeps of one who reads it. It is made, read and deleted here. */
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

/** Entries on their way to this node. */
export const MAX_FETCHED = 100;
/** After two of these without a sign of life the consumer is given up. */
const HEARTBEAT_MS = 1000;
const FETCH_MS = 5000;
/** JetStream deletes a consumer by itself where nobody has asked it for messages for so long. */
const INACTIVE_MS = 30_000;
/** A consumer that is not made so soon may have been given to a dead server: another one is asked for. */
const NEXT_ATTEMPT_MS = 500;
const MAX_ATTEMPTS = 5;
/** Rest before a consumer is deleted again that may not be gone. */
const DELETE_AGAIN_MS = 5000;
const MAX_DELETIONS = 60;

export interface LogMessage {
  position: number;
  id: string;
  /** When the log took it. */
  timeMs: number;
  data: Uint8Array;
}

/** What is read: entries from a position on, those of one subject where it is named. */
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
   * A consumer has one copy: it lives on one server, and dies with it. JetStream goes on giving new ones to a server
   * that was killed for a minute or more, so that it takes several attempts.
   * @throws Error why the first attempt failed, where all did
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
        ...{ deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: from },
        ...(subject === undefined ? {} : { filter_subject: subject }),
      });
    });
    try {
      const made = await Promise.any(attempts);
      // Those that come too late.
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

  /** How many entries it has yet to give. */
  get left(): number {
    return this.made.num_pending;
  }

  /**
   * Entries, as many as have come by then, until `stop`.
   * @throws Error where it gives no sign of life
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

  /** Deletes it, which goes on behind this where its server is dead. */
  delete(): Promise<void> {
    return remove(this.manager, this.made);
  }
}

/** Asks for a consumer; where none is made, none stays either. */
async function attempt(
  manager: JetStreamManager,
  stream: string,
  reading: Partial<ConsumerConfig>,
): Promise<ConsumerInfo> {
  const name = randomUUID();
  try {
    return await manager.consumers.add(stream, {
      ...{ name, ack_policy: AckPolicy.None, mem_storage: true, num_replicas: 1 },
      inactive_threshold: nanos(INACTIVE_MS),
      ...reading,
    });
  } catch (error) {
    // Its server may make it when it is back.
    void remove(manager, { stream_name: stream, name });
    throw error;
  }
}

/**
 * Deletes a consumer, once more in the background until JetStream says that it is gone: one of a dead server is
 * deleted when JetStream has a leader again, and would else stay for ever.
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

/** Ends the messages of a consumer that is not heard from, which its client would ask for ever. */
async function endWhenSilent(messages: ConsumerMessages, { cluster }: ConsumerInfo): Promise<void> {
  for await (const { type } of messages.status()) {
    if (type !== 'heartbeats_missed') continue;
    const server = cluster?.leader ? ` on server ${cluster.leader}` : '';
    const seconds = (2 * HEARTBEAT_MS) / 1000;
    messages.stop(new Error(`the log's consumer${server} was silent for ${seconds} s`));
  }
}

/** What an iterable gives, those together that have arrived. */
async function* inBatches(messages: AsyncIterable<JsMsg>): AsyncGenerator<LogMessage[]> {
  const iterator = messages[Symbol.asyncIterator]();
  const ask = (): Promise<IteratorResult<JsMsg, unknown>> => {
    const next = iterator.next();
    // It may fail while a batch is being applied: who asks for the next one is told.
    next.catch(() => undefined);
    return next;
  };
  for (let next = ask(); ;) {
    const first = await next;
    if (first.done === true) return;
    const batch = [logMessage(first.value)];
    next = ask();
    while (batch.length < MAX_FETCHED && (await hasCome(next))) {
      const more = await next;
      if (more.done === true) break;
      batch.push(logMessage(more.value));
      next = ask();
    }
    yield batch;
  }
}

function hasCome(promise: Promise<unknown>): Promise<boolean> {
  const come = promise.then(
    () => true,
    () => true,
  );
  return Promise.race([come, setImmediate(false)]);
}

function logMessage({ seq, headers, time, data }: JsMsg): LogMessage {
  const id = headers?.get('Nats-Msg-Id') ?? '';
  return { position: seq, id, timeMs: time.getTime(), data };
}
