/** A limit by client address, applied before the key is checked. */
import { isIPv4, isIPv6 } from 'node:net';
import { countedCache } from '../../storage/counted-cache.js';
import type { Exchange } from '../http/exchange.js';
import { Bucket, type LimitClock, systemLimitClock, US_PER_S } from './buckets.js';
import { tooMany } from './limiter.js';

/** Addresses that are remembered; beyond this, the least recently seen ones are forgotten. */
const MAX_ADDRESSES = 65_536;
/** Requests a second that an address may be allowed. */
export const MAX_ADDRESS_RATE = 1_000_000;
/** Proxies that may stand between a client and the server. */
export const MAX_PROXY_HOPS = 16;
/** Groups of 16 bits in an IPv6 address, and those of a network: a client has all addresses of its /64. */
const IPV6_GROUPS = 8;
const NETWORK_GROUPS = 4;

export interface AddressLimitOptions {
  /** Requests a second, which may come at once. */
  requestsPerS: number;
  /** Proxies in front that append to X-Forwarded-For; 0: the connection's address counts. */
  proxyHops: number;
  clock?: LimitClock;
  maxAddresses?: number;
}

/** Replies 429 if an address sends more requests than allowed, and passes the others to `handle`. */
export function withAddressLimit(
  handle: (exchange: Exchange) => void,
  options: AddressLimitOptions,
): (exchange: Exchange) => void {
  const { requestsPerS, proxyHops, clock = systemLimitClock } = options;
  const buckets = countedCache<string, Bucket>(options.maxAddresses ?? MAX_ADDRESSES);
  return (exchange) => {
    const client = clientOf(exchange, proxyHops);
    let bucket = buckets.get(client);
    if (bucket === undefined) {
      bucket = new Bucket('general', requestsPerS, 1);
      buckets.set(client, bucket);
    }
    const nowUs = clock.steadyUs();
    const waitUs = bucket.waitUs(nowUs);
    if (waitUs === 0) {
      bucket.draw(nowUs);
      handle(exchange);
      return;
    }
    const waitS = Math.ceil(waitUs / US_PER_S);
    exchange.replyError(tooMany('Too many requests from this address', waitS, []));
  };
}

/** Each proxy appends the address that it was called from: the last `hops` entries can be trusted. */
function clientOf(exchange: Exchange, hops: number): string {
  const { address, forwardedFor } = exchange.origin;
  const listed = hops === 0 ? [] : forwardedFor.split(',');
  const named = networkOf(listed.at(-Math.min(hops, listed.length)) ?? '');
  return named ?? networkOf(address) ?? '';
}

/** What identifies a client: its IPv4 address, or the /64 of its IPv6 address; null: no address. */
export function networkOf(text: string): string | null {
  // Some proxies append the port.
  const bare = text
    .trim()
    .replace(/^\[(.*)\](:\d+)?$/, '$1')
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
    .replace(/%.*$/, '');
  if (isIPv4(bare)) return bare;
  if (!isIPv6(bare)) return null;
  const groups = groupsOf(bare);
  // An IPv4 client of a socket that listens for both versions.
  if (groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0)) {
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 0xff])
      .join('.');
  }
  const network = groups.slice(0, NETWORK_GROUPS).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}

/** The groups of an IPv6 address. @param address valid for isIPv6(), without a zone */
function groupsOf(address: string): number[] {
  const [head, tail] = address.split('::').map((part) =>
    part.split(':').flatMap((group) => {
      if (group === '') return [];
      const bytes = group.split('.').map(Number);
      if (bytes.length === 1) return [parseInt(group, 16)];
      return [(bytes[0] << 8) | bytes[1], (bytes[2] << 8) | bytes[3]];
    }),
  );
  if (tail === undefined) return head;
  return [...head, ...new Array<number>(IPV6_GROUPS - head.length - tail.length).fill(0), ...tail];
}
