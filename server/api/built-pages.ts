/** Serves a folder that Vite builds: pages, and beside them files whose names contain a hash of their content. */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { ApiError, type Headers } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';
import { StaticFile } from '../http/static-files.js';

export const INDEX = 'index.html';

/** Minimum time between two scans of the folder, however many requests ask for missing files. */
const RESCAN_AFTER_MS = 200;
const ASSET_HEADERS: Headers = [['Cache-Control', 'public, max-age=31536000, immutable']];

/** Headers of a page. @param policy its Content-Security-Policy, besides what no page may do */
export const pageHeaders = (policy: readonly string[]): Headers => [
  [
    'Content-Security-Policy',
    [
      "default-src 'none'",
      ...policy,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
  ],
  ['Referrer-Policy', 'no-referrer'],
  ['Cache-Control', 'no-cache'],
];

interface BuiltOptions {
  folder: string;
  headersOf: (page: string) => Headers;
  /** Thrown instead of a page if there is no build. */
  notBuilt: () => ApiError;
}

/** The built files. A build may run while the server does. */
export class BuiltPages {
  /** By name; empty if there is no build. */
  private files: ReadonlyMap<string, StaticFile> = new Map();
  private scannedMs = -Infinity;

  constructor(private readonly options: BuiltOptions) {}

  /** Replies with a page, by its file's name. */
  page(exchange: Exchange, name: string): Promise<void> {
    return this.reply(exchange, name, () =>
      this.files.has(INDEX) ? noSuchFile() : this.options.notBuilt(),
    );
  }

  /** Replies with a file that pages load. */
  asset(exchange: Exchange, name: string): Promise<void> {
    if (isPage(name)) throw noSuchFile();
    return this.reply(exchange, name, noSuchFile);
  }

  private reply(exchange: Exchange, name: string, missing: () => ApiError): Promise<void> {
    if (!this.files.has(name) && performance.now() - this.scannedMs >= RESCAN_AFTER_MS) this.scan();
    const file = this.files.get(name);
    if (file === undefined) throw missing();
    return file.reply(exchange).catch((error: unknown) => {
      // The listed file is gone: a new build may have replaced the page that names it.
      this.files = new Map();
      throw error;
    });
  }

  private scan(): void {
    this.scannedMs = performance.now();
    const { files } = this;
    const { folder, headersOf } = this.options;
    const names = existsSync(path.join(folder, INDEX)) ? readdirSync(folder) : [];
    const fileOf = (name: string): StaticFile =>
      isPage(name)
        ? new StaticFile(path.join(folder, name), headersOf(name))
        : (files.get(name) ?? new StaticFile(path.join(folder, name), ASSET_HEADERS));
    this.files = new Map(names.map((name) => [name, fileOf(name)]));
  }
}

const isPage = (name: string) => name.endsWith('.html');

const noSuchFile = () => new ApiError(404, 'not_found', 'There is no such file');
