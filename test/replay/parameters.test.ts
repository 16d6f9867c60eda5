import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { binsOfBand } from '../../compute/ladder.js';
import { parameterReader } from '../../server/api/parameters.js';
import { ENDPOINTS } from '../../server/endpoints.js';
import { ApiError } from '../../server/http/errors.js';
import { replayRequest } from '../../server/replay/parameters.js';

const MINT = 'So11111111111111111111111111111111111111112';
const NOW = 1_794_659_696;
const DAY = 86_400;
const OLDEST = NOW - 365 * DAY;

const read = parameterReader(ENDPOINTS.getReplay);

function parse(query: string, address = MINT) {
  const call = read({ query }, address, null);
  return replayRequest(call.token, call.query, NOW);
}

function failure(query: string, address = MINT): Record<string, unknown> {
  try {
    parse(query, address);
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError);
    const { status, body } = error as ApiError;
    expect(status).toBe(400);
    expect(body.error).toBe('Bad Request');
    return { ...body };
  }
  throw new Error(`'${query}' was accepted`);
}

describe('replay parameters', () => {
  it('have defaults', () => {
    expect(parse('')).toEqual({
      address: MINT,
      chain: 'mainchain',
      fromS: NOW - DAY,
      toS: NOW,
      clamped: false,
      moves: true,
      query: {
        group: 'market',
        types: null,
        excludeTypes: null,
        venues: null,
        excludeVenues: null,
        minPct: -50,
        maxPct: 100,
        band: { first: -69, last: 69 },
      },
    });
  });

  it.each([
    ['form=now', 'form', 'did you mean from?'],
    ['From=now', 'From', 'did you mean from?'],
    ['venue=orca', 'venue', 'did you mean venues?'],
    ['exclude-venues=orca', 'exclude-venues', 'did you mean exclude_venues?'],
    ['types=cex_spot&typse=', 'typse', 'did you mean types?'],
    ['limit=5', 'limit', /^it has from, to, group, types,.* max_pct$/],
    ['chain=mainchain', 'chain', /^it has from, to/],
    ['=1', '', /^it has from/, "''"],
    ['%00=1', '\\u0000', /^it has from/],
    ['a%0A+b=1', 'a\\u000a b', /^it has from/, "'a\\u000a b'"],
    [`${'x'.repeat(5000)}=1`, `${'x'.repeat(64)}...`, /^it has from/],
  ])('refuse %s, which replay does not know', (query, parameter, advice, named = parameter) => {
    const { message, ...body } = failure(query);
    expect(body).toEqual({
      error: 'Bad Request',
      error_code: 'invalid_parameter',
      parameter,
    });
    const prefix = `${named}: this endpoint has no such parameter; `;
    expect(String(message).slice(0, prefix.length)).toBe(prefix);
    expect(String(message).slice(prefix.length)).toMatch(advice);
  });

  it('that replay does not know are ignored by a lenient server', () => {
    const lenient = parameterReader(ENDPOINTS.getReplay, { lenientParameters: true });
    const query = 'chain=nowhere&foo=&foo=%zz&&x';
    expect(lenient({ query }, MINT, null)).toEqual(read({ query: '' }, MINT, null));
    // A bad value of a known one stays an error.
    expect(() => lenient({ query: 'min_pct=x' }, MINT, null)).toThrow('min_pct');
  });
});

describe('the window', () => {
  it.each([
    [`to=${NOW - 10}`, NOW - 10 - DAY, NOW - 10, false],
    [`from=${NOW - 10}`, NOW - 10, NOW, false],
    [`from=${NOW - 20}&to=${NOW - 10}`, NOW - 20, NOW - 10, false],
    [`from=2026-11-14T00:00:00Z&to=2026-11-14T02:00:00%2B01:00`, 1794614400, 1794618000, false],
    [`from=2026-11-14T00:00:00Z&to=2026-11-14T02:00:00+01:00`, 1794614400, 1794618000, false],
    [`from=2026-11-14T00:00:00.25Z&to=2026-11-14T00:00:02.75Z`, 1794614401, 1794614403, false],
    [`from=2026-11-14T00:00:00.25Z&to=2026-11-14T00:00:00.75Z`, 1794614401, 1794614401, false],
    // The future: nothing is there yet, and the window stays as requested.
    [`to=${NOW + 100}`, NOW + 100 - DAY, NOW + 100, false],
    [`from=${NOW + 5}&to=${NOW + 100}`, NOW + 5, NOW + 100, false],
    // The limit.
    [`from=${OLDEST}`, OLDEST, NOW, false],
    [`from=${OLDEST - 1}`, OLDEST, NOW, true],
    ['from=0', OLDEST, NOW, true],
    [`from=0&to=${OLDEST + 1}`, OLDEST, OLDEST + 1, true],
    [`from=0&to=${OLDEST}`, OLDEST, OLDEST, true],
    ['from=1960-01-01T00:00:00Z', OLDEST, NOW, true],
    ['from=2026-11-14&to=2026-11-14T02:00:00Z', 1794614400, 1794621600, false],
    // Both ends are relative to now, not to each other.
    ['from=-24h', NOW - DAY, NOW, false],
    ['from=-48h&to=-24h', NOW - 2 * DAY, NOW - DAY, false],
    ['to=now', NOW - DAY, NOW, false],
    ['from=-600d', OLDEST, NOW, true],
  ])('%s', (query, fromS, toS, clamped) => {
    expect(parse(query)).toMatchObject({ fromS, toS, clamped });
  });

  it.each([
    ['from=abc', 'from', /epoch seconds, RFC 3339 with a zone, a date, now/],
    [`from=${NOW}000`, 'from', /not milliseconds/],
    [`to=${NOW}000`, 'to', /not milliseconds/],
    ['to=2026-11-14T00:00:00', 'to', /no zone/],
    ['from=-24h&to=-48h', 'from', /before `to`/],
    ['from=-999999d', 'from', /at most 18250 days before now/],
    [`from=${NOW}`, 'from', /before `to`/],
  ])('refuses %s', (query, parameter, message) => {
    expect(failure(query)).toEqual({
      error: 'Bad Request',
      error_code: 'invalid_parameter',
      message: expect.stringMatching(message),
      parameter,
    });
  });

  it.each([`to=${OLDEST - 1}`, 'to=1', 'from=1&to=2', 'to=1999-01-01T00:00:00Z'])(
    'that ended more than 365 days ago is out of range: %s',
    (query) => {
      expect(failure(query)).toMatchObject({ error_code: 'window_out_of_range' });
    },
  );
});

it.each([
  ['group=market', 'market'],
  ['group=venue', 'venue'],
  ['group=type', 'type'],
  ['group=all', 'all'],
  ['markets=split', 'market'],
  ['markets=aggregate', 'all'],
  ['markets=split&group=market', 'market'],
  ['group=all&markets=aggregate', 'all'],
])('group and markets %s', (query, group) => {
  expect(parse(query).query.group).toBe(group);
});

describe('filters', () => {
  const none = { types: null, excludeTypes: null, venues: null, excludeVenues: null };
  const onchain = ['onchain_pool', 'onchain_limit_order'];

  it.each([
    ['types=cex_spot', { types: ['cex_spot'] }],
    ['types=cex_spot,onchain_pool', { types: ['cex_spot', 'onchain_pool'] }],
    ['types=cex_spot%2Ccex_perp', { types: ['cex_spot', 'cex_perp'] }],
    ['types=cex_spot,cex_spot', { types: ['cex_spot'] }],
    ['exclude_types=cex_perp', { excludeTypes: ['cex_perp'] }],
    ['onchain=true', { types: onchain }],
    ['onchain=false', {}],
    ['onchain=false&types=cex_spot', { types: ['cex_spot'] }],
    ['onchain=true&types=onchain_pool,onchain_limit_order', { types: onchain }],
    ['types=onchain_limit_order,onchain_pool&onchain=true', { types: onchain.slice().reverse() }],
    ['venues=orca', { venues: ['orca'] }],
    ['venues=orca,constant-product,orca', { venues: ['orca', 'constant-product'] }],
    // In any case, by key or by name, each once.
    ['venues=Orca,ORCA,orca', { venues: ['orca'] }],
    ['exclude_venues=Phoenix+v1', { excludeVenues: ['phoenix-v1'] }],
    ['exclude_venues=b%C3%B6rse', { excludeVenues: ['b-rse'] }],
    ['venues=No+Such,!', { venues: ['no-such', '!'] }],
    ['types=cex_spot&exclude_venues=x', { types: ['cex_spot'], excludeVenues: ['x'] }],
    ['exclude_types=cex_spot&venues=x', { excludeTypes: ['cex_spot'], venues: ['x'] }],
  ])('%s', (query, filter) => {
    expect(parse(query).query).toMatchObject({ ...none, ...filter });
  });
});

it.each([
  ['min_pct=-90&max_pct=1000', -90, 1000],
  ['min_pct=0', 0, 100],
  ['min_pct=-0', 0, 100],
  ['max_pct=0', -50, 0],
  ['min_pct=-2.5&max_pct=2.5', -2.5, 2.5],
  ['min_pct=0.001&max_pct=0.002', 0.001, 0.002],
  ['min_pct=-.5&max_pct=5.', -0.5, 5],
])('the band %s', (query, minPct, maxPct) => {
  expect(parse(query).query).toMatchObject({ minPct, maxPct, band: binsOfBand(minPct, maxPct) });
});

it('bad values always give an answer or a client error', () => {
  const piece = fc.constantFrom(
    'from',
    'to',
    'types',
    '=',
    '&',
    ',',
    '%',
    '+',
    '1',
    'cex_spot',
    'é',
  );
  const query = fc.array(fc.oneof(piece, fc.string()), { maxLength: 20 }).map((p) => p.join(''));
  fc.assert(
    fc.property(query, fc.oneof(fc.constant(MINT), fc.string()), (text, address) => {
      try {
        const { fromS, toS } = parse(text, address);
        expect(fromS).toBeLessThanOrEqual(toS);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        expect(error.status).toBe(400);
      }
    }),
    { numRuns: 2000 },
  );
});
