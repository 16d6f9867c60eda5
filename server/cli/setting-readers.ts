/** Readers of the settings' texts, and builders of settings of the same form. */
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { chainOfAddress, TIERS } from '../../compute/market.js';
import type { Retention } from '../../storage/depth/retention-steps.js';
import { allOf, UsageError } from '../../storage/errors.js';
import { ANY_ORIGIN } from '../http/cors.js';
import { parseJson } from '../json-text.js';
import { readFields } from '../limits/plans.js';
import { duration, wholeNumber } from './flags.js';

const MAX_QUOTE_TOKENS = 100;
const MIB = 2 ** 20;
export const GIB = 2 ** 30;
/** Whole numbers, or with up to three decimals. */
const GIBIBYTES = /^[0-9]{1,4}(\.[0-9]{1,3})?$/;
const MAX_RETENTION = '36500d';
/** A currency code, as a client sends it in `currency`. */
const CODE = /^[A-Z0-9]{2,16}$/;

export function whole(
  placeholder: string,
  meaning: string,
  fallback: number,
  min: number,
  max: number,
) {
  const read = (text: string, from: string) => wholeNumber(text, from, min, max);
  return { placeholder, meaning, default: String(fallback), fallback, read } as const;
}

/** A share of --memory-mib in MiB, read as bytes. */
export function memoryShare(meaning: string, maxMib: number) {
  const read = (text: string, from: string) => MIB * wholeNumber(text, from, 0, maxMib);
  const shown = { placeholder: 'N', meaning, default: 'its share' };
  return { ...shown, fallback: null, read } as const;
}

/** @returns bytes */
export function gibibytes(text: string, from: string, maxGib: number): number {
  const gib = GIBIBYTES.test(text) ? Number(text) : Infinity;
  if (gib <= maxGib) return Math.floor(gib * GIB);
  throw new UsageError(
    `${from}: expected a number of GiB from 0 to ${maxGib}, such as 4 or 0.5, not ${text}`,
  );
}

export function currencyCode(code: string, from: string): string {
  if (CODE.test(code) && code !== 'USD') return code;
  throw new UsageError(`${from}: expected 2 to 16 of A-Z and 0-9, and not USD, not ${code}`);
}

export function mint(address: string, from: string): string {
  if (chainOfAddress(address) === 'mainchain') return address;
  throw new UsageError(`${from}: expected a base58 mint, not ${address}`);
}

/** Characters that URL accepts in hosts but no browser sends: wildcards, and the commas of a list. */
const NO_HOST = /[*,]/;

/** An origin as browsers send it: without a path, a default port or an upper-case letter. */
export function webOrigin(text: string, from: string): string {
  if (text === ANY_ORIGIN) return text;
  const { protocol = '', origin = '' } = URL.canParse(text) ? new URL(text) : {};
  const isWeb = /^https?:$/.test(protocol) && !NO_HOST.test(text);
  if (isWeb && text === origin) return text;
  const hint = isWeb ? `; did you mean ${origin}?` : '';
  throw new UsageError(
    `${from}: expected an origin such as https://app.example.com, or *, not '${text}'${hint}`,
  );
}

/** @throws UsageError that names the tier and what was expected */
export function readRetention(text: string, from: string): Retention {
  const read = ([tier, kept]: [string, unknown]): [string, number] => {
    // A number without a unit would mean seconds, and could easily be meant as days.
    if (typeof kept === 'string' && /[a-z]$/.test(kept)) {
      return [tier, duration(kept, `${from}.${tier}`, MAX_RETENTION)];
    }
    throw new UsageError(
      `${from}.${tier}: expected a duration with its unit, such as "30d", not ${JSON.stringify(kept)}`,
    );
  };
  const given = (tiers: object) => Object.entries(tiers) as [string, unknown][];
  return readFields(parseJson(text, from), from, TIERS, (tiers): Retention =>
    Object.fromEntries(allOf(given(tiers).map((entry) => () => read(entry)))),
  );
}

export function quoteMints(text: string, from: string): readonly string[] {
  const mints = text.split(',').map((item) => item.trim());
  const wrong = mints.find((item) => chainOfAddress(item) !== 'mainchain');
  if (wrong !== undefined) {
    throw new UsageError(`${from}: expected base58 mints separated by commas, not '${wrong}'`);
  }
  if (new Set(mints).size < mints.length) throw new UsageError(`${from}: expected each mint once`);
  if (mints.length <= MAX_QUOTE_TOKENS) return mints;
  throw new UsageError(`${from}: expected at most ${MAX_QUOTE_TOKENS} mints, not ${mints.length}`);
}

/** The full path of a file that can be read. @throws UsageError */
export function readableFile(name: string, from: string): string {
  try {
    closeSync(openSync(name, 'r'));
  } catch (error) {
    throw new UsageError(`${from}: ${name} cannot be read: ${(error as Error).message}`);
  }
  return path.resolve(name);
}
