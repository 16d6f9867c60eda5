/** The settings of `serve` that change replies: the nodes of a cluster share them. */
import type { Retention } from '../../storage/depth/retention-steps.js';
import type { Settings } from '../../storage/log/settings.js';
import { parsePlans, plansDocument } from '../limits/plans.js';
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

/** @throws UsageError if they come from a version with other plans */
export function withSharedSettings(options: ServeOptions, shared: Settings): ServeOptions {
  return {
    ...options,
    staleAfterS: shared['stale-after'] as number,
    native: { code: shared['native-code'] as string, mint: shared['native-mint'] as string },
    quotes: shared['quote-tokens'] as string[],
    evmChainId: shared['evm-chain-id'] as number,
    lenientParameters: shared['lenient-parameters'] as boolean,
    retention: shared.retention as Retention,
    plans: parsePlans(JSON.stringify(shared.plans), "the cluster's plans"),
  };
}
