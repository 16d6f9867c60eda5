/** Applies a bundle's frames to a stage, one transaction's worth. */
import { readBundle } from '../bundle/bundle.js';
import {
  BUNDLE_VERSION,
  type Frame,
  type HeaderFrame,
  type TokensFrame,
} from '../bundle/frames.js';
import { InputError } from '../errors.js';
import type { DepthCommit } from './depth-commit.js';
import type { Stage } from './stage.js';

/**
 * Applies every frame of a staged bundle.
 * @returns the number of segments that were added
 * @throws InputError naming the file where its rows contradict the store
 */
export async function applyBundle(
  directory: string,
  name: string,
  stage: Stage,
  depth: DepthCommit,
): Promise<number> {
  let header: HeaderFrame | null = null;
  let segments = 0;
  for await (const frame of readBundle(directory, name)) {
    if (frame.kind === 'header') {
      header = checkedHeader(frame);
      continue;
    }
    if (header === null) throw new Error('a bundle whose first frame is no header');
    segments += await applyFrame(frame, header, stage, depth);
  }
  const conflict = stage.legConflict();
  if (conflict !== null && header !== null) {
    const [first, second] = conflict.rows;
    throw new InputError(
      `${header.file}: asset: ${conflict.asset} would have two ${first.chain} legs, ${first.address} and ${second.address}`,
    );
  }
  return segments;
}

async function applyFrame(
  frame: Exclude<Frame, HeaderFrame>,
  header: HeaderFrame,
  stage: Stage,
  depth: DepthCommit,
): Promise<number> {
  switch (frame.kind) {
    case 'segment':
      await named(header.file, depth.add(frame, header.mode));
      return 1;
    case 'tokens':
      await putRows(frame, header.file, stage);
      return 0;
    case 'end':
      return 0;
  }
}

async function putRows(frame: TokensFrame, file: string, stage: Stage): Promise<void> {
  for (const { line, row } of frame.rows) await named(`${file}:${line}`, stage.putRow(row));
}

function checkedHeader(frame: HeaderFrame): HeaderFrame {
  if (frame.version !== BUNDLE_VERSION) {
    throw new InputError(
      `the command speaks version ${frame.version} of the hand-over, the store ${BUNDLE_VERSION}: run both with one version of Fathom`,
    );
  }
  return frame;
}

/** Puts the file's name in front of what is wrong with its rows. */
async function named<T>(place: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof InputError) throw new InputError(`${place}: ${error.message}`);
    throw error;
  }
}
