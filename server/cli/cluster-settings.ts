/** The settings of a cluster node, among them the access to the servers of its log. */
import { recordOf } from '../../compute/collections.js';
import { UsageError } from '../../storage/errors.js';
import type { NatsAccess } from '../../storage/log/connection.js';
import { variableOf } from './effective-settings.js';
import { wholeNumber } from './flags.js';
import { readableFile } from './setting-readers.js';

const NODE_NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** JetStream's maximum. */
const MAX_REPLICAS = 5;
/** Three keep a majority while one is missing. */
const USUAL_REPLICAS = 3;
const SERVERS = 'NATS JetStream servers: nats://host:port or tls://host:port, separated by commas';

const FILES = {
  'cluster-credentials': file(
    'credentials for these servers: .creds, the seed of an NKEY, USER:PASSWORD or a token',
    'none given',
  ),
  'cluster-ca': file('CA certificates for tls:// servers, in PEM', "Node's own"),
  'cluster-cert': file('the client certificate for tls:// servers, in PEM', 'none given'),
  'cluster-key': file('the private key of the client certificate, in PEM', 'none given'),
} as const;
type FileName = keyof typeof FILES;
const FILE_NAMES = Object.keys(FILES) as FileName[];

export const CLUSTER_SETTINGS = {
  cluster: {
    placeholder: 'URLS',
    meaning: `makes the server a node of a cluster, which shares a log on ${SERVERS}`,
    default: 'off',
    fallback: null,
    read: natsServers,
  },
  node: {
    placeholder: 'NAME',
    meaning: `the node's name, unique in the cluster; needs --cluster`,
    default: 'none given',
    fallback: null,
    read: nodeName,
  },
  'cluster-replicas': {
    placeholder: 'N',
    meaning: `number of servers that keep a copy of each entry of the log, 1 to ${MAX_REPLICAS}; used when this node creates the log`,
    default: '3 with three or more servers, otherwise 1',
    fallback: null,
    read: (text: string, from: string) => wholeNumber(text, from, 1, MAX_REPLICAS),
  },
  ...FILES,
} as const;

/** The flags of the commands that connect to the servers directly. */
export const CLUSTER_FLAGS = {
  cluster: {
    placeholder: 'URLS',
    meaning: SERVERS,
    needed: true,
    variable: variableOf('cluster'),
    read: natsServers,
  },
  ...recordOf(FILE_NAMES, (name) => ({ ...FILES[name], variable: variableOf(name) })),
} as const;

/** The settings' values; null or undefined if they are not given. */
type AccessValues = { cluster: readonly string[] | null } & {
  [N in FileName]?: string | null | undefined;
};
type ClusterValues = AccessValues & { node: string | null; 'cluster-replicas': number | null };

/** The options of a cluster node; null: a single server. */
export function clusterOf(
  values: ClusterValues,
): { access: NatsAccess; node: string; replicas: number } | null {
  const { cluster, node } = values;
  if (cluster === null || node === null) return null;
  const usual = cluster.length >= USUAL_REPLICAS ? USUAL_REPLICAS : 1;
  return { access: accessOf(values), node, replicas: values['cluster-replicas'] ?? usual };
}

export function accessOf(values: AccessValues): NatsAccess {
  return {
    servers: values.cluster ?? [],
    credentials: values['cluster-credentials'] ?? null,
    ca: values['cluster-ca'] ?? null,
    cert: values['cluster-cert'] ?? null,
    key: values['cluster-key'] ?? null,
  };
}

/**
 * @param from where each setting was given; by default as a flag
 * @throws UsageError if the settings contradict one another
 */
export function checkAccess(
  values: AccessValues,
  from = (name: FileName): string => `--${name}`,
): void {
  const { cluster } = values;
  const given = FILE_NAMES.filter((name) => values[name]);
  for (const name of given) {
    if (cluster === null) throw new UsageError(`${from(name)}: needs --cluster`);
    const needsTls = name !== 'cluster-credentials';
    if (needsTls && !cluster[0].startsWith('tls:')) {
      throw new UsageError(`${from(name)}: needs servers as tls://host:port`);
    }
  }
  const pair = given.filter((name) => name === 'cluster-cert' || name === 'cluster-key');
  if (pair.length !== 1) return;
  const other = pair[0] === 'cluster-cert' ? '--cluster-key' : '--cluster-cert';
  throw new UsageError(`${from(pair[0])}: needs ${other}`);
}

function natsServers(text: string, from: string): readonly string[] {
  const servers = text.split(',').map((item) => item.trim());
  // The text before the @ may be a password, which errors must not repeat.
  if (text.includes('@')) {
    throw new UsageError(
      `${from}: expected servers as nats://host:port: a user, password or token goes into the file that --cluster-credentials names`,
    );
  }
  const wrong = servers.find(
    (item) => !/^(nats|tls):\/\/[^/\s]+$/.test(item) || !URL.canParse(item),
  );
  if (wrong !== undefined) {
    throw new UsageError(
      `${from}: expected servers as nats://host:port or tls://host:port separated by commas, not '${wrong}'`,
    );
  }
  const [first] = servers;
  const other = servers.find((item) => item.slice(0, 4) !== first.slice(0, 4));
  if (other === undefined) return servers;
  throw new UsageError(`${from}: expected all servers as tls://host:port, or none`);
}

export function nodeName(text: string, from: string): string {
  if (NODE_NAME.test(text)) return text;
  throw new UsageError(`${from}: expected 1 to 64 of A-Z, a-z, 0-9, - and _, not '${text}'`);
}

function file(meaning: string, byDefault: string) {
  const shown = { placeholder: 'FILE', meaning: `file with ${meaning}`, default: byDefault };
  return { ...shown, fallback: null, read: readableFile } as const;
}
