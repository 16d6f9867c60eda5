import type { Chain } from '../../compute/market.js';
import { InputError } from '../errors.js';
import type { ImportReport } from './report.js';

/** Tokens that one import of lists holds until the last file is read. */
const MAX_LIST_TOKENS = 2_000_000;

/** One address of an asset, as a list gives it. */
export interface TokenLeg {
  address: string;
  symbol: string | null;
  name: string | null;
  icon: string | null;
  /** Null where the list gives those of another chain's leg alone. */
  decimals: number | null;
}

interface HeldLeg extends TokenLeg {
  chain: Chain;
  asset: string | null;
}

/**
 * The tokens of lists, each address once: the first entry's words win. A mint and a contract that an
 * entry links become legs of one asset, unless one of them has another partner already: an asset has
 * at most one leg a chain, so the first link wins and the others are reported.
 */
export class TokenLegs {
  private readonly byAddress = new Map<string, HeldLeg>();

  constructor(private readonly report: ImportReport) {}

  /** Adds an entry with its mint, its contract (lower case), or both, which it then links. */
  add(where: string, mint: TokenLeg | null, contract: TokenLeg | null): void {
    const main = mint === null ? null : this.hold(where, 'mainchain', mint);
    const evm = contract === null ? null : this.hold(where, 'evmchain', contract);
    if (main === null || evm === null) return;
    // Named after both, so that no other list can put a third leg into it.
    const asset = `${main.address}/${evm.address}`;
    const linked = [main, evm].find((leg) => leg.asset !== null && leg.asset !== asset);
    if (linked !== undefined) {
      const other = linked === main ? evm : main;
      const reason = `${linked.address} has another leg on ${other.chain} already: not linked`;
      this.report.leftOut.add({ where, what: other.address, reason });
      return;
    }
    main.asset = asset;
    evm.asset = asset;
  }

  /** Rows of the dataset `tokens`, in the order of first mention. */
  *rows(): Generator<object, void, undefined> {
    for (const { chain, address, symbol, name, icon, decimals, asset } of this.byAddress.values()) {
      yield { chain, address, symbol, name, icon, decimals, asset };
    }
  }

  private hold(where: string, chain: Chain, leg: TokenLeg): HeldLeg {
    let held = this.byAddress.get(leg.address);
    if (held === undefined) {
      if (this.byAddress.size >= MAX_LIST_TOKENS) {
        throw new InputError(`${where}: more than ${MAX_LIST_TOKENS} tokens in one import`);
      }
      held = { ...leg, chain, asset: null };
      this.byAddress.set(leg.address, held);
    }
    held.decimals ??= leg.decimals;
    return held;
  }
}
