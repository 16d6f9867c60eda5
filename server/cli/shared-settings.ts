/** The settings of `serve` that change replies: the nodes of a cluster take them from its log. */
import { allOf, UsageError } from '../../storage/errors.js';
import type { Retention } from '../../storage/depth/retention-steps.js';
import type { Settings } from '../../storage/log/settings.js';
import { type Plans, plansDocument } from '../limits/plans.js';
import { textsOf } from './config-file.js';
import { effectiveValue } from './effective-settings.js';
import { didYouMean, durationText, refuseEmpty } from './flags.js';
import type { ServeOptions } from './serve-options.js';
import { SETTINGS, SHARED_NAMES } from './settings.js';

type SharedName = (typeof SHARED_NAMES)[number];
type SharedValues = Readonly<Record<SharedName, unknown>>;

/** The shared settings of a server, in the form of the config file. */
export function sharedSettingsOf(options: ServeOptions): Settings {
  const values: SharedValues = {
    'stale-after': options.staleAfterS,
    'native-code': options.native.code,
    'native-mint': options.native.mint,
    'quote-tokens': options.quotes,
    'evm-chain-id': options.evmChainId,
    'lenient-parameters': options.lenientParameters,
    retention: options.retention,
    plans: options.plans,
  };
  return Object.fromEntries(SHARED_NAMES.map((name) => [name, documentOf(name, values[name])]));
}

/**
 * The options with a cluster's settings; those that the cluster lacks stay.
 * @throws UsageError if a node of a version that allows other values has set them
 */
export function withSharedSettings(options: ServeOptions, shared: Settings): ServeOptions {
  const all = { ...sharedSettingsOf(options), ...shared };
  const read = (name: SharedName) => () => [name, valueOfDocument(name, all[name])] as const;
  const values = Object.fromEntries(allOf(SHARED_NAMES.map(read))) as SharedValues;
  return {
    ...options,
    staleAfterS: values['stale-after'] as number,
    native: { code: values['native-code'] as string, mint: values['native-mint'] as string },
    quotes: values['quote-tokens'] as string[],
    evmChainId: values['evm-chain-id'] as number,
    lenientParameters: values['lenient-parameters'] as boolean,
    retention: values.retention as Retention,
    plans: values.plans as Plans,
  };
}

/**
 * Shared settings given as NAME=VALUE, with values as the variables of `serve` have them.
 * @throws UsageError with a line for each fault
 */
export function readAssignments(texts: readonly string[]): Settings {
  const given = new Set<string>();
  const read = (text: string) => (): readonly [string, unknown] => {
    const equals = text.indexOf('=');
    if (equals < 0) throw new UsageError(`${text}: expected NAME=VALUE with ${ONE_OF_THEM}`);
    const name = sharedName(text.slice(0, equals));
    if (given.has(name)) throw new UsageError(`${name}: given twice`);
    given.add(name);
    const value = text.slice(equals + 1);
    refuseEmpty(value, name);
    return [name, documentOf(name, effectiveValue(SETTINGS[name], { texts: [value], from: name }))];
  };
  return Object.fromEntries(allOf(texts.map(read)));
}

/** The value of a setting in the form in which readAssignments() takes it. */
export function settingText(document: unknown): string {
  return typeof document === 'string' ? document : JSON.stringify(document);
}

const ONE_OF_THEM = `NAME one of ${SHARED_NAMES.join(', ')}`;

/** @throws UsageError */
function sharedName(text: string): SharedName {
  const dashed = text.replaceAll('_', '-');
  const name = SHARED_NAMES.find((known) => known === dashed);
  if (name !== undefined) return name;
  throw new UsageError(
    Object.hasOwn(SETTINGS, dashed)
      ? `${text}: each node has its own, in its configuration; expected ${ONE_OF_THEM}`
      : `${text}: expected ${ONE_OF_THEM}${didYouMean(text, SHARED_NAMES)}`,
  );
}

function documentOf(name: SharedName, value: unknown): unknown {
  switch (name) {
    case 'stale-after':
      return durationText(value as number);
    case 'quote-tokens':
      return (value as string[]).join(',');
    case 'retention':
      return Object.fromEntries(
        Object.entries(value as Retention).map(([tier, keptS]) => [tier, durationText(keptS)]),
      );
    case 'plans':
      return plansDocument(value as Plans);
    default:
      return value;
  }
}

function valueOfDocument(name: SharedName, document: unknown): unknown {
  const from = `the cluster's ${name}`;
  try {
    return effectiveValue(SETTINGS[name], { texts: textsOf(document, SETTINGS[name], from), from });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(
      `${error.message}\na node of a newer version has changed them: upgrade this node`,
    );
  }
}
