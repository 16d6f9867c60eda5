/** The settings of `serve` that change replies: the nodes of a cluster share them. */
import type { Retention } from '../../storage/depth/retention-steps.js';
import type { Settings } from '../../storage/log/settings.js';
import { parsePlans, plansDocument } from '../limits/plans.js';
import type { ServeOptions } from './settings.js';

export function answersOf(options: ServeOptions): Settings {
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

/** @throws UsageError if they are of a version that knows other plans */
export function withAnswers(options: ServeOptions, answers: Settings): ServeOptions {
  return {
    ...options,
    staleAfterS: answers['stale-after'] as number,
    native: { code: answers['native-code'] as string, mint: answers['native-mint'] as string },
    quotes: answers['quote-tokens'] as string[],
    evmChainId: answers['evm-chain-id'] as number,
    lenientParameters: answers['lenient-parameters'] as boolean,
    retention: answers.retention as Retention,
    plans: parsePlans(JSON.stringify(answers.plans), "the cluster's plans"),
  };
}
