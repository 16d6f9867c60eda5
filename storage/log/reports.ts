/** The last report of each node. JetStream keeps it, so that other nodes also know a silent node. */
import {
  DiscardPolicy,
  type JetStreamClient,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { DAY_MS } from '../../compute/time.js';
import { pack, unpackOrNull } from '../../compute/messagepack.js';
import { isNoResponders, NO_MESSAGE, NO_STREAM, nullWith } from './jetstream-errors.js';

const STREAM = 'FATHOM_NODES';
const SUBJECTS = 'fathom-nodes.known.';
/** Nodes known at once. The one that has been silent longest is forgotten first. */
const MAX_KNOWN = 256;
/** Nodes forget a node that has been silent for this long. */
const FORGOTTEN_AFTER_MS = 30 * DAY_MS;

export interface NodeReport {
  version: string;
  /** The last entry that the node had applied. */
  position: number;
}

interface StoredReport {
  node: string;
  report: NodeReport;
  /** When JetStream stored it: epoch milliseconds of the JetStream server's clock. */
  timeMs: number;
}

/** Opens the connection; the stream of reports has as many copies as the log. */
type OpenReports = () => Promise<{
  manager: JetStreamManager;
  client: JetStreamClient;
  copies: () => Promise<number>;
}>;

export class NodeReports {
  constructor(private readonly open: OpenReports) {}

  /**
   * Replaces a node's last report.
   * @returns its number; later reports of any node have greater numbers
   */
  async put(node: string, report: NodeReport): Promise<number> {
    const { manager, client, copies } = await this.open();
    const publish = () => client.publish(`${SUBJECTS}${node}`, pack(report), { retries: 1 });
    const published = publish().catch(async (error: unknown) => {
      if (!isNoResponders(error)) throw error;
      await makeStream(manager, await copies());
      return publish();
    });
    return (await published).seq;
  }

  /** The last report of every known node. */
  async all(): Promise<StoredReport[]> {
    const { manager } = await this.open();
    const query = { subjects_filter: `${SUBJECTS}*` };
    const info = await manager.streams.info(STREAM, query).catch(nullWith(NO_STREAM));
    const subjects = Object.keys(info?.state.subjects ?? {});
    const found = await Promise.all(
      subjects.map(async (subject): Promise<StoredReport[]> => {
        const last = manager.streams.getMessage(STREAM, { last_by_subj: subject });
        const message = await last.catch(nullWith(NO_MESSAGE));
        const report = message && unpackOrNull<NodeReport>(message.data);
        const node = subject.slice(SUBJECTS.length);
        return message && report ? [{ node, report, timeMs: message.time.getTime() }] : [];
      }),
    );
    return found.flat();
  }

  /** Forgets a node until it reports again. */
  async forget(node: string): Promise<void> {
    const { manager } = await this.open();
    await manager.streams.purge(STREAM, { filter: `${SUBJECTS}${node}` });
  }
}

async function makeStream(manager: JetStreamManager, copies: number): Promise<void> {
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
  // Another node may have created it in the meantime.
  await manager.streams.add(settings).catch(() => manager.streams.info(STREAM));
}
