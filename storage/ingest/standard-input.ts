/** Standard input as a file: readers may need any part of it, and merges read it twice. */
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { leaveStagingFolder, stagingFolder } from '../bundle.js';
import { DiskFullError, FaultyFileError, InputError, isDiskFull } from '../errors.js';

/** The name of standard input among files and in reports. */
export const STANDARD_INPUT = '-';

/**
 * Copies standard input to a file beside the bundles while `body` runs.
 * @throws DiskFullError; faults thrown by `body` name STANDARD_INPUT instead of the copy
 */
export async function withStandardInput<T>(
  directory: string,
  body: (file: string) => Promise<T>,
): Promise<T> {
  const file = path.join(await stagingFolder(directory), `${randomUUID()}.input`);
  try {
    await pipeline(process.stdin, createWriteStream(file, { flags: 'wx', mode: 0o600 }));
    return await body(file);
  } catch (error) {
    if (isDiskFull(error)) throw new DiskFullError(directory);
    throw renamed(error, file);
  } finally {
    await rm(file, { force: true });
    await leaveStagingFolder(directory);
  }
}

function renamed(error: unknown, file: string): unknown {
  if (!(error instanceof InputError) || !error.message.includes(file)) return error;
  const named = (text: string): string => text.replaceAll(file, STANDARD_INPUT);
  if (error instanceof FaultyFileError) {
    return new FaultyFileError(STANDARD_INPUT, error.faults.map(named), error.faultCount);
  }
  return new InputError(named(error.message), error.faults.map(named));
}
