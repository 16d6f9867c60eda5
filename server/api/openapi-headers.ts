/** Headers of replies, as the API's description names them. */

const whole = (description: string) => ({ description, schema: { type: 'integer', minimum: 0 } });
const text = (description: string) => ({ description, schema: { type: 'string' } });
const UNLIMITED = '2147483647: unlimited.';

export const RESPONSE_HEADERS = {
  'X-Request-Id': text('Names the request in the logs of the service.'),
  'X-API-Tier': {
    description: "The key's tier.",
    schema: { type: 'string', enum: ['premium', 'enterprise'] },
  },
  'X-RateLimit-Limit': whole(`Requests that the bucket allows at once. ${UNLIMITED}`),
  'X-RateLimit-Remaining': whole(`Requests left in it now. ${UNLIMITED}`),
  'X-RateLimit-Reset': whole('When it is full again, Unix epoch seconds.'),
  'X-Quota-Limit': whole(`Calls a month (UTC). ${UNLIMITED}`),
  'X-Quota-Used': whole('Calls used this month, this one included.'),
  'X-Quota-Remaining': whole(`Calls left this month. ${UNLIMITED}`),
  'X-Quota-Reset': whole('When the next month begins, Unix epoch seconds.'),
  'RateLimit-Policy': text('Every bucket that the request drew on: its figure and seconds.'),
  RateLimit: text('What is left in each of them, and the seconds until it is full.'),
  'Retry-After': whole('Seconds after which to try again.'),
  ETag: text('Names this page in this form, where the window lies in the past.'),
  'Repr-Digest': text(
    'Digest of the body as sent (RFC 9530), where `Want-Repr-Digest` asks for `sha-256` or `sha-512`.',
  ),
} as const;

export type HeaderName = keyof typeof RESPONSE_HEADERS;

const PLAN_HEADERS: readonly HeaderName[] = [
  'X-API-Tier',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Quota-Limit',
  'X-Quota-Used',
  'X-Quota-Remaining',
  'X-Quota-Reset',
  'RateLimit-Policy',
  'RateLimit',
];

/** References to the headers of a reply with this status. */
export function headersOf(status: number, more: readonly HeaderName[] = []) {
  const names: HeaderName[] = ['X-Request-Id'];
  if (status !== 401) names.push(...PLAN_HEADERS);
  if (status === 429 || status === 503) names.push('Retry-After');
  return Object.fromEntries(
    [...names, ...more].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}
