/** Turns the settings of `fathom serve` into options of the server, or reports all faults. */
import path from 'node:path';
import { recordOf } from '../../compute/collections.js';
import { defaultQuoteTokens } from '../../compute/lp/dlmm-pool.js';
import { allOf, UsageError } from '../../storage/errors.js';
import type { ArchiveOptions } from '../../storage/opening.js';
import type { Plans } from '../limits/plans.js';
import type { LogLevel } from '../logger.js';
import { defaultThreads, divideMemory, leastMemoryMib, type Shares } from '../memory.js';
import { ARCHIVE_SETTINGS, archiveOf, checkArchive } from './archive-settings.js';
import { checkAccess, clusterOf } from './cluster-settings.js';
import { type Effective, effectiveSetting, effectiveSettings } from './effective-settings.js';
import type { FlagValues, ValueOf } from './flags.js';
import { type SERVE_FLAGS, type SettingName, SETTINGS, SHARED_NAMES } from './settings.js';

type SettingValue<S> = S extends { repeated: true }
  ? readonly ValueOf<S>[]
  : S extends { fallback: infer D }
    ? ValueOf<S> | D
    : boolean;

export type ServeOptions = ReturnType<typeof serveOptions>;

type ServeFlags = Partial<FlagValues<typeof SERVE_FLAGS>>;

/** The plans that keys can be given: the tiers, and those of the setting `plans`. @throws UsageError */
export function plansInEffect(): Plans {
  return effectiveSetting(SETTINGS, 'plans').value as Plans;
}

/** The archive that the settings name; null: none. @throws UsageError */
export function archiveInEffect(flags: ServeFlags = {}): ArchiveOptions | null {
  const names = Object.keys(ARCHIVE_SETTINGS) as (keyof typeof ARCHIVE_SETTINGS)[];
  const read = recordOf(names, (name) => effectiveSetting(SETTINGS, name, flags[name]));
  checkArchive(archiveUrlOf(read), (name) => read[name].given?.from);
  const values = recordOf(names, (name) => read[name].value);
  return archiveOf(values as Parameters<typeof archiveOf>[0]);
}

/** Every setting, and where it comes from. @throws UsageError with a line for each fault */
export function effective(flags: ServeFlags) {
  return effectiveSettings(SETTINGS, flags, (read) =>
    allOf([
      () => checkAdmin(read),
      () => checkMemory(read),
      () => checkCluster(read),
      () => checkArchive(archiveUrlOf(read), (name) => read[name]?.given?.from),
    ]),
  );
}

/** @throws UsageError if the settings of the operators' port contradict others */
function checkAdmin(read: Partial<Record<SettingName, Effective>>): void {
  const { port, 'admin-port': adminPort, 'admin-host': adminHost } = read;
  if (adminPort === undefined) return;
  if (adminPort.value === null) {
    const { fallback } = SETTINGS['admin-host'];
    if (!adminHost?.given || adminHost.value === fallback) return;
    throw new UsageError(`${adminHost.given.from}: needs --admin-port`);
  }
  if (adminPort.value !== 0 && adminPort.value === port?.value) {
    throw new UsageError(
      `${adminPort.given?.from}: expected a port other than the API's, ${adminPort.value as number}`,
    );
  }
}

function archiveUrlOf(read: Partial<Record<SettingName, Effective>>): string | null {
  return (read['archive-url']?.value ?? null) as string | null;
}

/** @throws UsageError if the settings of a node of a cluster contradict one another */
function checkCluster(read: Partial<Record<SettingName, Effective>>): void {
  const { cluster, node } = read;
  if (cluster === undefined || node === undefined) return;
  const values = Object.entries(read).map(([name, { value }]) => [name, value]);
  checkAccess(
    Object.fromEntries(values) as Parameters<typeof checkAccess>[0],
    (name) => read[name]?.given?.from ?? `--${name}`,
  );
  if (cluster.value !== null && node.value === null) {
    throw new UsageError(`${cluster.given?.from}: needs --node, the name of this node`);
  }
  if (cluster.value === null && node.value !== null) {
    throw new UsageError(`${node.given?.from}: needs --cluster`);
  }
}

/** @throws UsageError if the memory is too small for the threads and the given shares */
function checkMemory(read: Partial<Record<SettingName, Effective>>): void {
  const { 'memory-mib': memory, threads } = read;
  const { 'fragments-memory-mib': fragments, 'blocks-memory-mib': blocks } = read;
  if (!memory || !threads || !fragments || !blocks) return;
  const memoryMib = memory.value as number;
  const given = givenShares(fragments.value as number | null, blocks.value as number | null);
  const count = (threads.value as number | null) ?? defaultThreads(memoryMib, given);
  const leastMib = leastMemoryMib(count, given);
  if (memoryMib >= leastMib) return;
  const shares = Object.keys(given).length === 0 ? '' : ' and these shares';
  throw new UsageError(
    `${memory.given?.from ?? '--memory-mib'}: expected at least ${leastMib} for ${count} worker threads${shares}, not ${memoryMib}`,
  );
}

function givenShares(fragments: number | null, blocks: number | null): Partial<Shares> {
  return {
    ...(fragments === null ? {} : { fragments }),
    ...(blocks === null ? {} : { blocks }),
  };
}

/** Defaults of a command for settings that are not given. */
interface Defaults {
  /** The most worker threads. */
  maxThreads?: number;
  logLevel?: LogLevel;
}

/**
 * The settings of `serve`.
 * @throws UsageError with a line for each fault
 */
export function serveOptions(
  flags: ServeFlags,
  { maxThreads = Infinity, logLevel = 'info' }: Defaults = {},
) {
  const { settings } = effective(flags);
  const values = Object.fromEntries(
    Object.entries(settings).map(([name, { value }]) => [name, value]),
  ) as { [N in SettingName]: SettingValue<(typeof SETTINGS)[N]> };
  const native = { code: values['native-code'], mint: values['native-mint'] };
  const adminPort = values['admin-port'];
  const requestsPerS = values['address-rate'];
  const proxyHops = values['trust-proxy'];
  const memoryMib = values['memory-mib'];
  const given = givenShares(values['fragments-memory-mib'], values['blocks-memory-mib']);
  const cluster = clusterOf(values);
  const threads = values.threads ?? Math.min(maxThreads, defaultThreads(memoryMib, given));
  return {
    directory: path.resolve(values.data),
    host: values.host,
    port: values.port,
    /** Epoch seconds at which the server's clock is frozen; null: it runs. */
    asOfS: values['as-of'],
    /** A newest snapshot older than this is stale. */
    staleAfterS: values['stale-after'],
    plans: values.plans,
    native,
    /** Mints that count as the quote side of a pool, by priority. */
    quotes: values['quote-tokens'] ?? defaultQuoteTokens(native.mint),
    evmChainId: values['evm-chain-id'],
    threads,
    memory: divideMemory(memoryMib, threads, given),
    /** Bytes that fragments may take on the store's disk; 0: none. */
    fragmentsDiskBytes: values['fragments-disk-gib'],
    /** Where /healthz, /readyz and /metrics are; null: with the API. */
    admin: adminPort === null ? null : { host: values['admin-host'], port: adminPort },
    log: {
      level: settings['log-level'].given === null ? logLevel : values['log-level'],
      format: values['log-format'] ?? (process.stderr.isTTY ? 'pretty' : 'json'),
    },
    engine: values['http-engine'],
    /** How long the server takes requests after a stop signal. */
    stopDelayS: values['stop-delay'],
    lenientParameters: values['lenient-parameters'],
    /** A limit by client address; null: none. */
    addressLimit: requestsPerS === null ? null : { requestsPerS, proxyHops },
    /** Origins of web pages that may read replies. */
    corsOrigins: values['cors-origin'],
    retention: values.retention,
    /** Where closed days go; null: nowhere. */
    archive: archiveOf(values),
    /** Bytes of the disk for blocks of archived days, also of an archive that only the store remembers. */
    archiveCacheBytes: values['archive-cache-gib'],
    /** The cluster that the server is a node of, and which of its settings the configuration gives; null: none. */
    cluster: cluster && {
      ...cluster,
      given: SHARED_NAMES.filter((name) => settings[name].given !== null) as readonly string[],
    },
  };
}
