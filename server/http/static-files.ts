/** Files of the program, served without a key: compressed once, and revalidated by ETag. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import type { Headers } from './errors.js';
import type { Exchange } from './exchange.js';
import { namesTag, negotiateEncoding } from './negotiation.js';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};
/** Types whose files are already compressed. */
const COMPRESSED = ['.png', '.woff2'];
const ENCODINGS = ['br', 'gzip'] as const;
/** Above this quality, brotli's time grows faster than the file shrinks. */
const BROTLI_QUALITY = 9;

const brotli = promisify<Buffer, zlib.BrotliOptions, Buffer>(zlib.brotliCompress);
const gzip = promisify<Buffer, Buffer>(zlib.gzip);

interface Loaded {
  plain: Buffer;
  /** Null: files of this type are already compressed. */
  compressed: Readonly<Record<(typeof ENCODINGS)[number], Buffer>> | null;
  tag: string;
}

/** One file, which is read and compressed at the first request. */
export class StaticFile {
  private loaded: Promise<Loaded> | null = null;
  private readonly extension: string;

  /**
   * @param content of a file that the program makes; its name then only gives the type
   * @param headers besides those about the content: caching, policies
   */
  constructor(
    private readonly file: string,
    private readonly headers: Headers,
    private readonly content: Buffer | null = null,
  ) {
    this.extension = path.extname(file);
  }

  async reply(exchange: Exchange): Promise<void> {
    const { plain, compressed, tag } = await this.whenLoaded();
    const encoding =
      compressed === null
        ? 'identity'
        : (negotiateEncoding(exchange.header('accept-encoding'), ENCODINGS) ?? 'identity');
    const etag = `"${tag}-${encoding}"`;
    const headers: Headers = [
      ...this.headers,
      ['X-Content-Type-Options', 'nosniff'],
      ['ETag', etag],
      ...(compressed === null ? [] : [['Vary', 'Accept-Encoding'] as const]),
    ];
    if (namesTag(exchange.header('if-none-match'), etag)) {
      exchange.reply(304, headers, null);
      return;
    }
    const type = ['Content-Type', TYPES[this.extension]] as const;
    if (compressed === null || encoding === 'identity')
      exchange.reply(200, [type, ...headers], plain, 'permanent');
    else {
      const all: Headers = [type, ...headers, ['Content-Encoding', encoding]];
      exchange.reply(200, all, compressed[encoding], 'permanent');
    }
  }

  /** Caches the file, but no failure: the file, or a free descriptor, may exist at the next request. */
  private whenLoaded(): Promise<Loaded> {
    this.loaded ??= this.load().catch((error: unknown) => {
      this.loaded = null;
      throw error;
    });
    return this.loaded;
  }

  private async load(): Promise<Loaded> {
    const plain = this.content ?? (await readFile(this.file));
    const tag = createHash('sha256').update(plain).digest('base64url').slice(0, 22);
    if (COMPRESSED.includes(this.extension)) return { plain, compressed: null, tag };
    const params = { [zlib.constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY };
    const [br, gz] = await Promise.all([brotli(plain, { params }), gzip(plain)]);
    return { plain, compressed: { br, gzip: gz }, tag };
  }
}
