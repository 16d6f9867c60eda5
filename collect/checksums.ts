/** The exchanges' checksums of a book's best levels. */
import { crc32 } from 'node:zlib';
import type { SortedBook } from '../storage/import/order-book.js';

/** `price:size` by price, as the exchange writes them. */
export interface BookTexts {
  bids: Map<number, string>;
  asks: Map<number, string>;
}

/** How an exchange sums a book. */
export type Checksum = (book: SortedBook, texts: BookTexts) => number;

const OKX_LEVELS = 25;
const KRAKEN_LEVELS = 10;

/** OKX and Bitget: `price:size` of the best bid, ask, second bid, ... as a signed CRC-32. */
export const alternating: Checksum = ({ bids, asks }, texts) => {
  const parts: string[] = [];
  for (let i = 0; i < OKX_LEVELS; i++) {
    if (i < bids.length) parts.push(texts.bids.get(bids[i][0]) ?? '');
    if (i < asks.length) parts.push(texts.asks.get(asks[i][0]) ?? '');
  }
  return crc32(parts.join(':')) | 0;
};

/** Kraken: prices and sizes of the best asks, then bids, as digits without point and leading zeros. */
export const digits: Checksum = ({ bids, asks }, texts) => {
  const text = [
    ...asks.slice(0, KRAKEN_LEVELS).map(([price]) => texts.asks.get(price) ?? ''),
    ...bids.slice(0, KRAKEN_LEVELS).map(([price]) => texts.bids.get(price) ?? ''),
  ];
  const bare = (part: string): string => part.replace('.', '').replace(/^0+/, '');
  return crc32(text.map((level) => level.split(':').map(bare).join('')).join(''));
};
