/** The settings of `serve` that change replies: the nodes of a cluster share them. */
import type { Retention } from '../../storage/depth/retention-steps.js';
import type { Settings } from '../../storage/log/settings.js';
import { UsageError } from '../../storage/errors.js';
import { parsePlans, type Plans, plansDocument } from '../limits/plans.js';
import type { ServeOptions } from './serve-options.js';

export function sharedSettingsOf(options: ServeOptions): Settings {
  return {
    'stale-after': options.staleAfterS,
    'native-code': options.native.code,
    'native-mint': options.native.mint,
    'quote-tokens': options.quotes,
    'evm-chain-id': options.evmChainId,
    'lenient-parameters': options.lenientParameters,
    retention: options.retention,
    plans: plansDocument(options.plans),
  };
}

/**
 * The options with a cluster's settings; those that an earlier version did not share stay.
 * @throws UsageError if the settings come from a version with other plans
 */
export function withSharedSettings(options: ServeOptions, shared: Settings): ServeOptions {
  const all = { ...sharedSettingsOf(options), ...shared };
  return {
    ...options,
    staleAfterS: all['stale-after'] as number,
    native: { code: all['native-code'] as string, mint: all['native-mint'] as string },
    quotes: all['quote-tokens'] as string[],
    evmChainId: all['evm-chain-id'] as number,
    lenientParameters: all['lenient-parameters'] as boolean,
    retention: all.retention as Retention,
    plans: plansOf(all.plans),
  };
}

function plansOf(document: unknown): Plans {
  try {
    return parsePlans(JSON.stringify(document), "the cluster's plans");
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(
      `${error.message}\na node of a newer version has changed them: upgrade this node`,
    );
  }
}
