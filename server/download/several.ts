/**
 * Downloads of several tokens into a folder, a file each, one token after the other. While they last, `_replay.json` in
 * the folder has what the same command needs to go on: the window, which all tokens share, and the tokens that are done.
 */
import { mkdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { chainOfAddress } from '../../compute/market.js';
import { writeWhole } from '../../storage/disk.js';
import { absent } from '../../storage/errors.js';
import { takeLock } from '../../storage/file-lock.js';
import type { DownloadResult } from './download.js';
import type { ReplayFormat } from './formats.js';
import { partPaths } from './part-file.js';
import {
  difference,
  NothingToWriteError,
  ReplayError,
  type DownloadRequest,
  type RequestedParameters,
} from './request.js';

/** Names that start so are no data for pyarrow, Spark and others that read a folder. */
const STATE_FILE = '_replay.json';
const VERSION = 1;

/** A file to download. */
export interface OneToken {
  address: string;
  out: string;
  parameters: RequestedParameters;
  force: boolean;
}

export interface SeveralRequest extends Omit<DownloadRequest, 'address'> {
  /** Each once. */
  addresses: readonly string[];
  format: ReplayFormat;
  /** The folder; its parent exists. */
  out: string;
  force: boolean;
  restart: boolean;
  /** Downloads a token, or the rest of it. @throws ReplayError */
  downloadOne: (one: OneToken) => Promise<DownloadResult>;
}

/** What became of a token. */
export type TokenOutcome =
  | { address: string; out: string; result: DownloadResult }
  /** An earlier run has completed the file. */
  | { address: string; out: string; result: 'earlier' }
  /** There is nothing to write. */
  | { address: string; out: string; result: ReplayError };

interface State {
  request: Omit<DownloadRequest, 'address'> & { format: ReplayFormat };
  /** That of the first token with snapshots, epoch seconds; null before. */
  window: { from: number; to: number } | null;
  /** Addresses whose files are complete. */
  done: string[];
}

/**
 * Downloads all tokens. One without data in the window does not stop the others.
 * @throws ReplayError if a token cannot be downloaded now: the files that are complete stay, and the same request
 *   continues; or if an address is none
 */
export async function downloadSeveral(request: SeveralRequest): Promise<TokenOutcome[]> {
  const { addresses, out: folder, format, url, parameters, force, restart } = request;
  // They become names of files.
  const wrong = addresses.find((address) => chainOfAddress(address) === null);
  if (wrong !== undefined) throw new ReplayError(`expected an address, not '${wrong}'`);
  await makeFolder(folder);
  const file = path.join(folder, STATE_FILE);
  const unlock = await takeLock(`${file}.lock`, {
    what: `to ${folder}`,
    command: 'fathom replay',
    Refusal: ReplayError,
  });
  try {
    const left = await readState(file, restart);
    const own = { url, parameters, format };
    if (left !== null && !restart) refuseOther(left, own, folder);
    const fileOf = (address: string): string => path.join(folder, `${address}.${format}`);
    if (left === null && !force) await refuseExisting(addresses.map(fileOf));
    const state: State = restart || left === null ? { request: own, window: null, done: [] } : left;
    const save = (): Promise<void> =>
      writeWhole(file, Buffer.from(`${JSON.stringify({ version: VERSION, ...state })}\n`));
    await save();
    const outcomes: TokenOutcome[] = [];
    for (const address of addresses) {
      const out = fileOf(address);
      if (state.done.includes(address) && (await exists(out))) {
        outcomes.push({ address, out, result: 'earlier' });
        continue;
      }
      // A file of the run that is discarded is not someone else's.
      const isOwn = restart && left !== null && left.done.includes(address);
      const one = { address, out, parameters: within(parameters, state), force: force || isOwn };
      const result = await request.downloadOne(one).catch(async (error: unknown) => {
        if (error instanceof NothingToWriteError) return error;
        const isBegun = state.done.length > 0 || (await exists(partPaths(out).part));
        // There is nothing to continue.
        if (!isBegun) await rm(file, { force: true });
        throw error;
      });
      outcomes.push({ address, out, result });
      if (result instanceof ReplayError) continue;
      const { from, to } = result.totals.head.window;
      state.window ??= { from, to };
      state.done.push(address);
      await save();
    }
    await rm(file, { force: true });
    return outcomes;
  } finally {
    await unlock();
  }
}

/** The parameters, with the window that the first token had: `now` has passed since. */
function within(parameters: RequestedParameters, { window }: State): RequestedParameters {
  if (window === null) return parameters;
  return { ...parameters, from: String(window.from), to: String(window.to) };
}

const exists = async (file: string): Promise<boolean> => (await stat(file).catch(absent)) !== null;

/** @throws ReplayError */
async function refuseExisting(files: readonly string[]): Promise<void> {
  for (const file of files) {
    if (!(await exists(file))) continue;
    throw new ReplayError(`--out: ${file} already exists; --force replaces it`, false);
  }
}

/** @throws ReplayError */
async function makeFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(absent);
  if (found === null) {
    await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      throw new ReplayError(`--out: no directory ${path.dirname(path.resolve(folder))}`);
    });
  } else if (!found.isDirectory()) {
    throw new ReplayError(`--out: several tokens need a folder; ${folder} is none`);
  }
}

/** @throws ReplayError if it cannot be read, unless it is discarded */
async function readState(file: string, isDiscarded: boolean): Promise<State | null> {
  const text = await readFile(file, 'utf8').catch(absent);
  if (text === null) return null;
  try {
    const { version, ...state } = JSON.parse(text) as State & { version: unknown };
    if (version === VERSION && Array.isArray(state.done)) return state;
  } catch {
    // The same as another version.
  }
  if (isDiscarded) return null;
  throw new ReplayError(`${file} is damaged, or of another version; use --restart`, false);
}

/** @throws ReplayError if an interrupted run was another one; its tokens may have been others */
function refuseOther(left: State, own: State['request'], folder: string): void {
  const flat = ({ url, parameters, format }: State['request']) => ({
    url,
    address: '',
    parameters: { ...parameters, format },
  });
  const other = difference(flat(left.request), flat(own));
  if (other === null) return;
  throw new ReplayError(
    `${folder} has an interrupted run of another request: ${other}; repeat that one to finish it, or use --restart`,
    false,
  );
}
