/** Encodes fragments of a brotli stream (RFC 7932); the caller finds the matches. */
import { BitWriter, DEFLATE_SLACK_BYTES } from './prefix-codes.js';
import { textBytes } from '../replay/page-memory.js';
import type { FragmentEncoder } from './encoder.js';
import {
  canOmitDistance,
  COMMAND_SYMBOLS,
  commandSymbol,
  COPIES,
  copyCode,
  DISTANCE_SYMBOLS,
  distanceExtra,
  distanceExtraBits,
  insertCode,
  INSERTS,
  LastDistances,
  PrefixCode,
} from './brotli-codes.js';

/** Offsets of a command's numbers in the list. */
const INSERT = 0;
const COPY = 1;
const DISTANCE = 2;
const SYMBOL = 3;
const DISTANCE_SYMBOL = 4;
const COMMAND_NUMBERS = 5;
/** The command has no distance, or repeats the last distance. */
const NO_DISTANCE = -1;
const FIRST_COMMANDS = 1024;

/** Upper bound of a block's bytes before its commands. */
const MAX_HEAD_BYTES = 2048;
/** A block's length takes at least four nibbles. */
const MIN_LENGTH_NIBBLES = 4;
/** One block type, no direct distances, one code per alphabet: eleven fields of zeros. */
const PLAIN_FIELDS_BITS = 13;
/** An empty metadata block, after which the stream is aligned to bytes. */
const ALIGNING_BLOCK = 6;
const ALIGNING_BLOCK_BITS = 6;
/** Bits written at once. */
const MAX_PUT_BITS = 16;

export class BrotliEncoder implements FragmentEncoder {
  readonly maxDistance: number;
  private readonly writer = new BitWriter();
  private readonly literals = new PrefixCode(256);
  private readonly commands = new PrefixCode(COMMAND_SYMBOLS);
  private readonly distances = new PrefixCode(DISTANCE_SYMBOLS);
  private readonly last = new LastDistances();
  private list = new Int32Array(FIRST_COMMANDS * COMMAND_NUMBERS);
  private used = 0;
  private text: Uint8Array = new Uint8Array(0);
  private fragmentStart = 0;
  /** End of the last copy. */
  private copied = 0;

  /** @param windowBits of the stream that will contain the fragments */
  constructor(windowBits: number) {
    this.maxDistance = 2 ** windowBits - 16;
  }

  begin(): void {
    this.writer.clear();
    this.skip(0);
  }

  skip(to: number): void {
    this.fragmentStart = this.copied = to;
    this.used = 0;
    this.last.clear();
  }

  take(matches: Uint32Array): void {
    for (let m = 0; m < matches.length; m += 3) {
      const from = matches[m];
      const distance = matches[m + 2];
      if (from < this.copied || distance < 1 || distance > Math.min(this.maxDistance, from)) {
        throw new RangeError('no match: it begins too early or reaches back too far');
      }
      this.add(from - this.copied, matches[m + 1], distance);
      this.copied = from + matches[m + 1];
    }
  }

  endFragment(to: number): number {
    const bytes = to - this.fragmentStart;
    this.text = textBytes(to);
    // The last command only inserts.
    if (to > this.copied) this.add(to - this.copied, 0, 0);
    this.count();
    this.reserve();
    this.writeHead(bytes);
    this.writeCommands();
    this.writer.put(ALIGNING_BLOCK, ALIGNING_BLOCK_BITS);
    this.writer.align();
    this.skip(to);
    return this.writer.at;
  }

  written(): Uint8Array<ArrayBuffer> {
    return this.writer.written();
  }

  private add(insert: number, copy: number, distance: number): void {
    if (this.used === this.list.length) {
      const list = new Int32Array(2 * this.list.length);
      list.set(this.list);
      this.list = list;
    }
    const insertLengthCode = insertCode(insert);
    const copyLengthCode = copy === 0 ? 0 : copyCode(copy);
    let symbol = copy === 0 ? NO_DISTANCE : this.last.symbolOf(distance);
    const isLeftOut = symbol === 0 && canOmitDistance(insertLengthCode, copyLengthCode);
    if (isLeftOut) symbol = NO_DISTANCE;
    const list = this.list;
    const at = this.used;
    list[at + INSERT] = insert;
    list[at + COPY] = copy;
    list[at + DISTANCE] = distance;
    list[at + SYMBOL] = commandSymbol(insertLengthCode, copyLengthCode, isLeftOut);
    list[at + DISTANCE_SYMBOL] = symbol;
    this.used += COMMAND_NUMBERS;
  }

  private count(): void {
    const list = this.list;
    const text = this.text;
    const literals = this.literals.counts.fill(0);
    const commands = this.commands.counts.fill(0);
    const distances = this.distances.counts.fill(0);
    for (let c = 0, at = this.fragmentStart; c < this.used; c += COMMAND_NUMBERS) {
      commands[list[c + SYMBOL]]++;
      const symbol = list[c + DISTANCE_SYMBOL];
      if (symbol !== NO_DISTANCE) distances[symbol]++;
      for (const end = at + list[c + INSERT]; at < end; at++) literals[text[at]]++;
      at += list[c + COPY];
    }
    this.literals.make();
    this.commands.make();
    this.distances.make();
  }

  private reserve(): void {
    // A command takes at most 24 + 24 + 17 bits besides its codes.
    const extraBytes = 9 * (this.used / COMMAND_NUMBERS);
    const bits = this.literals.bits() + this.commands.bits() + this.distances.bits();
    this.writer.reserve(
      MAX_HEAD_BYTES + Math.ceil(bits / 8) + extraBytes + 2 * DEFLATE_SLACK_BYTES,
    );
  }

  private writeHead(bytes: number): void {
    const writer = this.writer;
    let nibbles = MIN_LENGTH_NIBBLES;
    while ((bytes - 1) >>> (4 * nibbles) > 0) nibbles++;
    writer.put((nibbles - MIN_LENGTH_NIBBLES) << 1, 3);
    putLong(writer, bytes - 1, 4 * nibbles);
    writer.put(0, 1);
    writer.put(0, PLAIN_FIELDS_BITS);
    this.literals.write(writer);
    this.commands.write(writer);
    this.distances.write(writer);
  }

  private writeCommands(): void {
    const writer = this.writer;
    const list = this.list;
    const commands = this.commands;
    const distances = this.distances;
    for (let c = 0, at = this.fragmentStart; c < this.used; c += COMMAND_NUMBERS) {
      const insert = list[c + INSERT];
      const copy = list[c + COPY];
      const symbol = list[c + SYMBOL];
      writer.put(commands.codes[symbol], commands.lengths[symbol]);
      const insertLengthCode = insertCode(insert);
      putLong(writer, insert - INSERTS.base[insertLengthCode], INSERTS.extraBits[insertLengthCode]);
      if (copy > 0) {
        const copyLengthCode = copyCode(copy);
        putLong(writer, copy - COPIES.base[copyLengthCode], COPIES.extraBits[copyLengthCode]);
      }
      this.writeLiterals(at, at + insert);
      at += insert + copy;
      const distanceSymbol = list[c + DISTANCE_SYMBOL];
      if (distanceSymbol === NO_DISTANCE) continue;
      writer.put(distances.codes[distanceSymbol], distances.lengths[distanceSymbol]);
      const bits = distanceExtraBits(distanceSymbol);
      if (bits > 0) putLong(writer, distanceExtra(list[c + DISTANCE]), bits);
    }
  }

  private writeLiterals(from: number, to: number): void {
    const writer = this.writer;
    const text = this.text;
    const { codes, lengths } = this.literals;
    const { view } = writer;
    let { at, bits, count } = writer;
    for (let i = from; i < to; i++) {
      const byte = text[i];
      bits |= codes[byte] << count;
      count += lengths[byte];
      view.setInt32(at, bits, true);
      at += count >> 3;
      bits >>>= count & 24;
      count &= 7;
    }
    writer.at = at;
    writer.bits = bits;
    writer.count = count;
  }
}

/** Writes a number with more bits than one call can write. */
function putLong(writer: BitWriter, value: number, bits: number): void {
  if (bits > MAX_PUT_BITS) {
    writer.put(value & (2 ** MAX_PUT_BITS - 1), MAX_PUT_BITS);
    writer.put(value >>> MAX_PUT_BITS, bits - MAX_PUT_BITS);
  } else if (bits > 0) writer.put(value, bits);
}
