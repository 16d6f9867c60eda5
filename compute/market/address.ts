import type { Chain } from './market.js';

const BASE58 = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;
const EVM = /^0x[0-9a-fA-F]{40}$/;

/** The chain that an address' shape decides, or null where it is neither base58 nor `0x`. */
export function chainOfAddress(address: string): Chain | null {
  if (BASE58.test(address)) return 'mainchain';
  return EVM.test(address) ? 'evmchain' : null;
}

/** An address as it is stored and echoed: `0x` addresses in lower case, mints as they are. */
export function canonicalAddress(address: string): string {
  return EVM.test(address) ? address.toLowerCase() : address;
}
