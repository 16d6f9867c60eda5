/** Which token mainchain's native currency is. */
import { chainOfAddress } from '../../compute/market.js';
import { UsageError } from '../../storage/errors.js';
import { DEFAULT_NATIVE, type NativeCurrency } from '../depth/depth-handler.js';

/** A code, as a client sends it in `currency`. */
const CODE = /^[A-Z0-9]{2,16}$/;

interface Setting {
  value: string;
  from: string;
}

/** @throws UsageError naming where a bad value came from */
export function nativeCurrency(code: Setting | null, mint: Setting | null): NativeCurrency {
  if (code !== null && (!CODE.test(code.value) || code.value === 'USD')) {
    throw new UsageError(
      `${code.from}: expected 2 to 16 of A-Z and 0-9, and not USD, not ${code.value}`,
    );
  }
  if (mint !== null && chainOfAddress(mint.value) !== 'mainchain') {
    throw new UsageError(`${mint.from}: expected a base58 mint, not ${mint.value}`);
  }
  return {
    code: code?.value ?? DEFAULT_NATIVE.code,
    mint: mint?.value ?? DEFAULT_NATIVE.mint,
  };
}
