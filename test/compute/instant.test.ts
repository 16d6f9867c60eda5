import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseInstant } from '../../compute/time.js';

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

  it.each([
    ['1794659696000', /milliseconds/],
    ['100000000000', /milliseconds/],
    ['2026-11-14T10:34:56', /no zone/],
    ['2026-11-14T10:34', /no zone/],
    ['2026-11-14', /no zone/],
    ['2026-11-14T10:34:56.123', /no zone/],
    ['2026-02-29T00:00:00Z', /no such date/],
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
    ['now', /expected epoch seconds/],
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
