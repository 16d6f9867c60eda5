import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCsv, readCsvBatches } from '../../storage/csv.js';
import { InputError } from '../../storage/errors.js';
import { readLineChunks, readLineBatches } from '../../storage/lines.js';
import { fixture, Scratch } from './import-helpers.js';

const scratch = new Scratch();

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const row of rows) list.push(row);
  return list;
}

const linesOf = async (file: string) => (await all(readLineBatches(file))).flat();
const textsOf = async (file: string) => (await linesOf(file)).map((line) => line.text);

describe('lines', () => {
  it('are plain or gzip by content, in several members, whatever the name', async () => {
    const members = Buffer.concat([gzipSync('a\nb'), gzipSync('c\r\n'), gzipSync('\nd')]);
    expect(await textsOf(scratch.file('members.txt', members))).toEqual(['a', 'bc', '', 'd']);
    expect(await textsOf(scratch.file('plain.gz', 'a\nbc\n\nd\n'))).toEqual(['a', 'bc', '', 'd']);
    expect(await textsOf(scratch.file('empty'))).toEqual([]);
    expect(await textsOf(scratch.file('one', 'x'))).toEqual(['x']);
    expect(await textsOf(scratch.file('bom', '\uFEFFx\ny'))).toEqual(['x', 'y']);
  });

  it('keep their numbers across chunks, which end with whole lines', async () => {
    const lines = Array.from({ length: 60_000 }, (_, i) => `${i}-${'é'.repeat(i % 60)}`);
    const file = scratch.file('long', lines.join('\n'));
    const read = await linesOf(file);
    expect(read.map((line) => line.text)).toEqual(lines);
    expect(read.map((line) => line.line)).toEqual(lines.map((_, i) => i + 1));
    const chunks = await all(readLineChunks(file));
    expect(chunks.length).toBeGreaterThan(2);
    for (const chunk of chunks.slice(0, -1)) expect(chunk.bytes.at(-1)).toBe(0x0a);
    expect(Buffer.concat(chunks.map((chunk) => chunk.bytes)).toString()).toBe(lines.join('\n'));
  });

  it('refuse a gzip file that is cut anywhere, damaged or followed by garbage', async () => {
    const whole = gzipSync(Buffer.from('some lines\n'.repeat(500)));
    for (const length of [2, 9, 10, 11, whole.length >> 1, whole.length - 8, whole.length - 1]) {
      const file = scratch.file('cut.gz', whole.subarray(0, length));
      await expect(textsOf(file)).rejects.toThrow(`${file}: gzip: the file is cut short`);
    }
    const twice = Buffer.concat([whole, whole.subarray(0, 20)]);
    await expect(textsOf(scratch.file('cut2.gz', twice))).rejects.toThrow('cut short');
    const flipped = Buffer.from(whole);
    flipped[whole.length - 6] ^= 1;
    await expect(textsOf(scratch.file('crc.gz', flipped))).rejects.toThrow('damaged');
    const behind = Buffer.concat([whole, Buffer.from('rubbish')]);
    await expect(textsOf(scratch.file('behind.gz', behind))).rejects.toThrow('damaged');
  });

  it('name a missing file, a directory, and a line that is not UTF-8', async () => {
    await expect(textsOf('nowhere.ndjson')).rejects.toThrow('nowhere.ndjson: no such file');
    await expect(textsOf('test')).rejects.toThrow('expected a file, found a directory');
    const file = scratch.file('latin', Buffer.from('ok\nna\xefve\n', 'latin1'));
    await expect(textsOf(file)).rejects.toThrow(`${file}:2: the text is not UTF-8`);
  });

  it('say what a file is that begins like no text', async () => {
    const bzip2 = Buffer.from('425a683931415926535993', 'hex');
    const wide = Buffer.from('\uFEFFa;b\n1;2\n', 'utf16le');
    for (const [bytes, what] of [
      [wide, 'it is UTF-16, which iconv -f UTF-16 -t UTF-8 converts'],
      [Buffer.from(wide).swap16(), 'it is UTF-16, which iconv -f UTF-16 -t UTF-8 converts'],
      [
        Buffer.from('PAR1\xff', 'latin1'),
        'it is Parquet, which ingest reads with --format parquet',
      ],
      [
        Buffer.from('ARROW1\0\0\xff', 'latin1'),
        'it is Arrow, which ingest reads with --format arrow',
      ],
      [Buffer.from('28b52ffd04', 'hex'), 'it is packed: unpack it with zstd -d'],
      [Buffer.from('fd377a585a00', 'hex'), 'it is packed: unpack it with xz -d'],
      [bzip2, 'it is packed: unpack it with bzip2 -d'],
      [Buffer.from('04224d18ff', 'hex'), 'it is packed: unpack it with lz4 -d'],
      [
        Buffer.from('504b0304ff', 'hex'),
        'it is packed, or a spreadsheet: unpack it, or save it as text',
      ],
    ] as const) {
      const file = scratch.file('strange', bytes);
      await expect(textsOf(file)).rejects.toThrow(`${file}:1: the text is not UTF-8: ${what}`);
    }
    // Text may begin with the same letters.
    expect(await textsOf(scratch.file('named', Buffer.from('BZh,PAR1\n')))).toEqual(['BZh,PAR1']);
  });

  it('can be abandoned before the end', async () => {
    for await (const [line] of readLineBatches(fixture('binance_spot_excerpt.stream.gz'))) {
      expect(line.line).toBe(1);
      break;
    }
  });
});

const quoted = (field: string) => `"${field.replaceAll('"', '""')}"`;
const csvOf = (rows: string[][], end: string) =>
  rows.map((row) => row.map(quoted).join(',') + end).join('');

describe('csv', () => {
  it('gives back any quoted fields', async () => {
    const field = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', 'é', ' ') });
    const table = fc.array(fc.array(field, { minLength: 3, maxLength: 3 }), { maxLength: 20 });
    const header = ['x', 'y', 'z'];
    await fc.assert(
      fc.asyncProperty(table, fc.constantFrom('\n', '\r\n'), async (rows, end) => {
        const file = scratch.file('any.csv', csvOf([header, ...rows], end));
        const read = await all(readCsv(file));
        expect(read.map((record) => record.fields)).toEqual(rows);
        let line = 2;
        for (const [i, row] of rows.entries()) {
          expect(read[i].line).toBe(line);
          line += row.join('').split('\n').length;
        }
      }),
      { numRuns: 60 },
    );
  });

  it('gives the header of a file without records', async () => {
    const batches = await all(readCsvBatches(scratch.file('head.csv', 'a,b\n')));
    expect(batches).toEqual([{ header: ['a', 'b'], records: [] }]);
  });

  const faulty: [string, string, string][] = [
    ['nothing', '', '1: expected a header'],
    ['a column twice', 'a,a\n', '1: a: the header has this column twice'],
    ['lone CRs', 'a,b\r1,2\r', '1: expected lines that end in LF or CRLF, they end in CR alone'],
    ['a short row', 'a,b\n1,2\n3\n', '3: expected 2 fields as in the header, found 1'],
    ['a long row', 'a,b\n1,2,3\n', '2: expected 2 fields as in the header, found 3'],
    ['a quote inside', 'a,b\n1,2"\n', '2: a quote inside an unquoted field'],
    ['text behind a quote', 'a,b\n"1"x,2\n', '2: text after a closing quote'],
    ['an open quote', 'a,b\n1,"2\n3,4\n', '2: a quote is never closed'],
  ];
  it.each(faulty)('refuses %s', async (_, text, message) => {
    const file = scratch.file('faulty.csv', text);
    await expect(all(readCsv(file))).rejects.toThrow(new InputError(`${file}:${message}`).message);
  });

  it('passes faults to a handler if there is one, and continues', async () => {
    const faults: string[] = [];
    const file = scratch.file('some.csv', 'a,b\n1\n2,3\n"4"x,5\n6,7\n');
    const onFault = (line: number, what: string) => faults.push(`${line}: ${what}`);
    const [{ records }] = await all(readCsvBatches(file, onFault));
    expect(records.map((record) => record.fields)).toEqual([
      ['2', '3'],
      ['6', '7'],
    ]);
    expect(faults.map((fault) => fault.slice(0, 2))).toEqual(['2:', '4:']);
  });
});
