/** The code of `assembly`, compiled to WebAssembly. */
import { readFileSync } from 'node:fs';

/** Growing it replaces the buffer: earlier views have no bytes then. */
export interface WebAssemblyMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

/** What is used of WebAssembly: the types for Node do not have it. */
declare const WebAssembly: {
  Module: new (code: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { exports: unknown };
};

const PAGE_BYTES = 65_536;

let compiled: object | null = null;

/**
 * Runs the code in memory of its own.
 * @param makeCodes called before a block of deflate is written: see `assembly/blocks.ts`
 */
export function newInstance<Exports>(makeCodes: (e: 0 | 1) => void = noCodes): Exports {
  compiled ??= new WebAssembly.Module(readFileSync(new URL('kernels.wasm', import.meta.url)));
  return new WebAssembly.Instance(compiled, { blocks: { makeCodes } }).exports as Exports;
}

function noCodes(): void {
  throw new Error('this instance does not write pages');
}

/** Makes a memory large enough. @returns all of it */
export function grown(memory: WebAssemblyMemory, bytes: number): Uint8Array<ArrayBuffer> {
  const missing = bytes - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES));
  return new Uint8Array(memory.buffer);
}
