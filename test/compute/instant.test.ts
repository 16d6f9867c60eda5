import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_AGO_S, parseInstant as parseAt, parseTime } from '../../compute/time.js';

const NOW_S = 1_794_659_696;
const parseInstant = (text: string) => parseAt(text, NOW_S);

describe('parseInstant', () => {
  it.each([
    ['0', 0],
    ['1794659696', 1794659696],
    ['99999999999', 99999999999],
    ['2026-11-14T10:34:56Z', 1794652496],
    ['2026-11-14t10:34:56z', 1794652496],
    ['2026-11-14T10:34:56.5Z', 1794652496.5],
    ['2026-11-14T12:34:56+02:00', 1794652496],
    ['2026-11-14T12:34:56 02:00', 1794652496],
    ['2026-11-14T05:04:56-05:30', 1794652496],
    ['2026-11-14 10:34:56Z', 1794652496],
    ['2024-02-29T00:00:00Z', 1709164800],
    ['2024-02-29', 1709164800],
    ['2026-11-20', Date.UTC(2026, 10, 20) / 1000],
    ['now', NOW_S],
    ['-90s', NOW_S - 90],
    ['-15m', NOW_S - 900],
    ['-24h', NOW_S - 86_400],
    ['-7d', NOW_S - 604_800],
    ['-1w', NOW_S - 604_800],
    ['-0s', NOW_S],
    [`-${MAX_AGO_S}s`, NOW_S - MAX_AGO_S],
    ['2016-12-31T23:59:60Z', 1483228800],
    ['0050-01-01T00:00:00Z', Date.parse('0050-01-01T00:00:00Z') / 1000],
  ])('%s', (text, seconds) => {
    expect(parseInstant(text)).toBe(seconds);
  });

  it('agrees with Date.parse on every timestamp with a zone', () => {
    const time = fc.date({
      min: new Date('0001-01-02T00:00:00Z'),
      max: new Date('9998-12-30T00:00:00Z'),
      noInvalidDate: true,
    });
    const zone = fc.tuple(
      fc.constantFrom('+', '-'),
      fc.integer({ min: 0, max: 23 }),
      fc.integer({ min: 0, max: 59 }),
    );
    fc.assert(
      fc.property(time, zone, (date, [sign, hours, minutes]) => {
        const pad = (n: number) => String(n).padStart(2, '0');
        const text = date.toISOString().replace('Z', `${sign}${pad(hours)}:${pad(minutes)}`);
        expect(parseInstant(text)).toBeCloseTo(Date.parse(text) / 1000, 3);
      }),
    );
  });

  it('distinguishes times that move with the clock', () => {
    const moving = ['now', '-24h', '0', '2026-11-14', '2026-11-14T10:34:56Z'].filter(
      (text) => parseTime(text).fromNow,
    );
    expect(moving).toEqual(['now', '-24h']);
  });

  it.each([
    ['1794659696000', /milliseconds/],
    ['100000000000', /milliseconds/],
    ['2026-11-14T10:34:56', /no zone/],
    ['2026-11-14T10:34', /no zone/],
    ['2026-11-14T10:34:56.123', /no zone/],
    ['2026-02-29T00:00:00Z', /no such date/],
    ['2026-02-29', /no such date/],
    ['2026-13-01', /no such date/],
    [`-${MAX_AGO_S + 1}s`, /at most 18250 days before now/],
    ['-999999999999w', /at most 18250 days before now/],
    ['2026-13-01T00:00:00Z', /no such date/],
    ['2026-00-10T00:00:00Z', /no such date/],
    ['2026-11-31T00:00:00Z', /no such date/],
    ['2026-11-14T24:00:00Z', /no such date/],
    ['2026-11-14T10:60:00Z', /no such date/],
    ['2026-11-14T10:34:61Z', /no such date/],
    ['2026-11-14T10:34:56+24:00', /no such date/],
    ['2026-11-14T10:34:56+00:60', /no such date/],
    ['1794659696.5', /expected epoch seconds/],
    ['-5', /expected epoch seconds/],
    ['+5', /expected epoch seconds/],
    ['1e9', /expected epoch seconds/],
    ['0x10', /expected epoch seconds/],
    ['Now', /expected epoch seconds/],
    ['-24', /expected epoch seconds/],
    ['24h', /expected epoch seconds/],
    ['+24h', /expected epoch seconds/],
    ['-1.5h', /expected epoch seconds/],
    ['-24H', /expected epoch seconds/],
    ['-1y', /expected epoch seconds/],
    ['2026-11', /expected epoch seconds/],
    ['2026-11-14Z', /expected epoch seconds/],
    ['yesterday', /expected epoch seconds/],
    ['2026-11-14T10:34:56+0200', /expected epoch seconds/],
    ['Sat, 14 Nov 2026 10:34:56 GMT', /expected epoch seconds/],
    [' 1794659696', /expected epoch seconds/],
    ['', /expected epoch seconds/],
    ['١٧٩٤٦٥٩٦٩٦', /expected epoch seconds/],
  ])('refuses %j', (text, message) => {
    expect(() => parseInstant(text)).toThrow(message);
  });
});
