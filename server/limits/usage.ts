/** GET /usage: how much of its plan the requesting key has used this month. */
import Type from '../api/type.js';
import { dateOfDigits } from '../../compute/time.js';
import { KEY_TIERS } from '../../storage/contract.js';
import { defineEndpoint, type Handler } from '../api/endpoint.js';
import { count, document, epochSeconds, nullable, word } from '../api/schemas.js';
import type { Services } from '../services.js';

const requests = count('Calls charged');

export const getUsage = defineEndpoint({
  operationId: 'getUsage',
  method: 'GET',
  path: '/usage',
  tag: 'Account',
  summary: "The calling key's usage",
  description:
    'Calls charged in the current UTC month, in total, by day and by endpoint. This call is free, even when the ' +
    'quota is used up. Calls in progress are not counted yet.',
  quotaCost: 0,
  chain: { kind: 'absent', supported: [] },
  query: Type.Object({}),
  response: document('Usage', {
    tier: word(KEY_TIERS, { description: "The key's tier." }),
    month: Type.String({ pattern: '^\\d{4}-\\d{2}$', description: 'UTC month.' }),
    used: requests,
    limit: nullable(Type.Integer(), 'Calls a month; null: unlimited.'),
    remaining: nullable(Type.Integer(), 'Calls left this month; null: unlimited.'),
    resets_at: epochSeconds('When the next month begins'),
    days: Type.Array(document('DayUsage', { date: Type.String({ format: 'date' }), requests }), {
      description: 'Days with calls, ascending.',
    }),
    endpoints: Type.Array(
      document('EndpointUsage', {
        endpoint: Type.String({ description: 'Method and path, such as `GET /score/:address`.' }),
        requests,
      }),
      { description: 'Endpoints with calls, the most used first, then by name.' },
    ),
  }),
});

export function usageHandler({ limiter }: Services): Handler<typeof getUsage> {
  return async ({ key }) => {
    const { tier, month, used, limit, endMs } = limiter.monthOf(key);
    const calls = await limiter.usage.ofMonth(key.id, month);
    const ofDays = sums(calls, ({ day }) => dateOfDigits(day));
    const ofEndpoints = sums(calls, ({ endpoint }) => endpoint);
    return {
      tier,
      month: dateOfDigits(month),
      used,
      limit: Number.isFinite(limit) ? limit : null,
      remaining: Number.isFinite(limit) ? Math.max(limit - used, 0) : null,
      resets_at: endMs / 1000,
      days: ofDays.map(([date, requests]) => ({ date, requests })),
      endpoints: ofEndpoints
        .sort(([a, callsA], [b, callsB]) => callsB - callsA || (a < b ? -1 : 1))
        .map(([endpoint, requests]) => ({ endpoint, requests })),
    };
  };
}

function sums<T extends { calls: number }>(
  items: readonly T[],
  nameOf: (item: T) => string,
): [string, number][] {
  const calls = new Map<string, number>();
  for (const item of items) {
    const name = nameOf(item);
    calls.set(name, (calls.get(name) ?? 0) + item.calls);
  }
  return [...calls];
}
