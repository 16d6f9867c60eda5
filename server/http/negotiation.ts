/**
 * Request headers that decide the form of a reply: Accept and Accept-Encoding (RFC 9110, 12.5), and the entity tags
 * that a client knows. Parameters of an accepted media type, such as `charset`, do not exclude an offer
 * without them.
 */
import { MAX_LIST_MEMBERS, membersOf } from './request-head.js';

/** Whether an If-None-Match header names an entity tag (RFC 9110, 13.1.2: weak comparison). */
export function namesTag(ifNoneMatch: string, tag: string): boolean {
  const opaque = (one: string): string => one.trim().replace(/^W\//, '');
  return membersOf(ifNoneMatch)
    .map(opaque)
    .some((one) => one === '*' || one === opaque(tag));
}

/** An element of a header with its weight: `gzip;q=0.5`. */
interface Weighted {
  value: string;
  /** 0 to 1. */
  weight: number;
}

const WEIGHT = /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/;

/**
 * The offer that an Accept header ranks highest; the earlier one on a tie.
 *
 * @param accept the header; '' if not sent, which accepts the first offer
 * @param offers media types without parameters
 * @returns null if none is acceptable
 */
export function negotiateMediaType<T extends string>(
  accept: string,
  offers: readonly T[],
): T | null {
  if (accept.trim() === '') return offers[0];
  const ranges = parseWeighted(accept);
  return bestOffer(offers, (offer) => {
    const [type] = offer.split('/');
    return weightOf(ranges, [offer, `${type}/*`, '*/*']) ?? 0;
  });
}

/**
 * The content coding that an Accept-Encoding header ranks highest; the earlier offer on a tie.
 * `identity` is acceptable unless the header excludes it, but ranks below the codings that it names.
 *
 * @param acceptEncoding the header; '' if not sent, which means identity
 * @returns null if none is acceptable
 */
export function negotiateEncoding<T extends string>(
  acceptEncoding: string,
  offers: readonly T[],
): T | 'identity' | null {
  if (acceptEncoding.trim() === '') return 'identity';
  const codings = parseWeighted(acceptEncoding);
  // An alias (RFC 9110, 8.4.1.3).
  for (const coding of codings) if (coding.value === 'x-gzip') coding.value = 'gzip';
  return bestOffer<T | 'identity'>([...offers, 'identity'], (offer) => {
    const weight = weightOf(codings, [offer, '*']);
    if (weight !== null) return weight;
    return offer === 'identity' ? Number.MIN_VALUE : 0;
  });
}

/** The weight of the first of `values`, most specific first, that the header names. */
function weightOf(header: readonly Weighted[], values: readonly string[]): number | null {
  for (const value of values) {
    const named = header.find((item) => item.value === value);
    if (named) return named.weight;
  }
  return null;
}

/** The offer of the greatest weight, the earlier one on a tie; null if all weights are 0. */
export function bestOffer<T>(offers: readonly T[], weigh: (offer: T) => number): T | null {
  let chosen: T | null = null;
  let greatest = 0;
  for (const offer of offers) {
    const weight = weigh(offer);
    if (weight > greatest) {
      chosen = offer;
      greatest = weight;
    }
  }
  return chosen;
}

/** Elements in lower case. Ignores malformed elements, and parameters other than q. */
function parseWeighted(header: string): Weighted[] {
  const items: Weighted[] = [];
  for (const element of membersOf(header.toLowerCase())) {
    const [value, ...parameters] = element.split(';', MAX_LIST_MEMBERS).map((text) => text.trim());
    const q = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    if (value === '' || (q !== undefined && !WEIGHT.test(q))) continue;
    items.push({ value, weight: q === undefined ? 1 : Number(q) });
  }
  return items;
}
