/** What each node last reported of itself: JetStream keeps it, so that a node that is silent is known, too. */
import {
  DiscardPolicy,
  type JetStreamClient,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { isNoResponders, NO_MESSAGE, NO_STREAM, nullWith } from './jetstream-errors.js';

const STREAM = 'FATHOM_NODES';
const SUBJECTS = 'fathom-nodes.known.';
/** Nodes that are known at once; the one that has been silent longest is forgotten first. */
const MAX_KNOWN = 256;
/** A node that has been silent for so long is forgotten. */
const FORGOTTEN_AFTER_MS = 30 * 86_400_000;

interface Opened {
  manager: JetStreamManager;
  client: JetStreamClient;
}

/** The latest report of a node. */
export interface StoredReport {
  node: string;
  data: Uint8Array;
  /** When JetStream took it, by the clock of its server. */
  timeMs: number;
}

export class NodeReports {
  constructor(private readonly open: () => Promise<Opened>) {}

  /**
   * Puts a node's report in the place of its last one.
   * @param copies of it, where no report was made before
   * @returns its number: later reports of any node have greater ones
   */
  async put(node: string, data: Uint8Array, copies: number): Promise<number> {
    const { manager, client } = await this.open();
    const publish = () => client.publish(`${SUBJECTS}${node}`, data, { retries: 1 });
    const taken = publish().catch(async (error: unknown) => {
      if (!isNoResponders(error)) throw error;
      await make(manager, copies);
      return publish();
    });
    return (await taken).seq;
  }

  /** Of every node that is known. */
  async all(): Promise<StoredReport[]> {
    const { manager } = await this.open();
    const asked = { subjects_filter: `${SUBJECTS}*` };
    const info = await manager.streams.info(STREAM, asked).catch(nullWith(NO_STREAM));
    const subjects = Object.keys(info?.state.subjects ?? {});
    const found = await Promise.all(
      subjects.map(async (subject): Promise<StoredReport[]> => {
        const query = { last_by_subj: subject };
        const found = manager.streams.getMessage(STREAM, query);
        const message = await found.catch(nullWith(NO_MESSAGE));
        if (message === null) return [];
        const node = subject.slice(SUBJECTS.length);
        return [{ node, data: message.data, timeMs: message.time.getTime() }];
      }),
    );
    return found.flat();
  }

  /** A node is known no longer, until it reports again. */
  async forget(node: string): Promise<void> {
    const { manager } = await this.open();
    await manager.streams.purge(STREAM, { filter: `${SUBJECTS}${node}` });
  }
}

async function make(manager: JetStreamManager, copies: number): Promise<void> {
  const settings = {
    name: STREAM,
    subjects: [`${SUBJECTS}*`],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_msgs: MAX_KNOWN,
    max_msgs_per_subject: 1,
    max_age: nanos(FORGOTTEN_AFTER_MS),
    num_replicas: copies,
  };
  // Another node may have been faster.
  await manager.streams.add(settings).catch(() => manager.streams.info(STREAM));
}
