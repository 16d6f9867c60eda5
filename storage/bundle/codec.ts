/** Length-prefixed MessagePack, for bundles and for the control socket. */
import { Packr, Unpackr } from 'msgpackr';

/** A frame's greatest length; a longer one is damage or an attack. */
export const MAX_FRAME_BYTES = 256 * 1024 * 1024;
/** Bytes of a frame's length, big-endian. */
export const FRAME_HEAD_BYTES = 4;

const packr = new Packr({ useRecords: false, moreTypes: true });
const unpackr = new Unpackr({ useRecords: false, moreTypes: true });

/** A value as one frame: u32 length, then MessagePack. Typed arrays keep their type. */
export function packFrame(value: unknown): Buffer {
  const body = packr.pack(value);
  if (body.length > MAX_FRAME_BYTES) throw new Error(`a frame of ${body.length} bytes`);
  const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + body.length);
  frame.writeUInt32BE(body.length, 0);
  body.copy(frame, FRAME_HEAD_BYTES);
  return frame;
}

/** The value of a frame's body. Binary parts are copies, aligned for any typed array. */
export function unpackBody(body: Uint8Array): unknown {
  return unpackr.unpack(body);
}

/** Length of the frame whose head this is. @throws Error where it exceeds MAX_FRAME_BYTES */
export function frameLength(head: Buffer): number {
  const length = head.readUInt32BE(0);
  if (length > MAX_FRAME_BYTES) throw new Error(`a frame states ${length} bytes`);
  return length;
}

/** Puts together frames that arrive in pieces. */
export class FrameReader {
  private chunks: Buffer[] = [];
  private bytes = 0;

  constructor(private readonly maxFrameBytes: number) {}

  push(chunk: Buffer): void {
    this.chunks.push(chunk);
    this.bytes += chunk.length;
  }

  /**
   * Takes the next whole frame's body, or null where it has not arrived yet.
   * @throws Error where a frame states more bytes than may be
   */
  take(): Buffer | null {
    if (this.bytes < FRAME_HEAD_BYTES) return null;
    if (this.chunks[0].length < FRAME_HEAD_BYTES) this.chunks = [Buffer.concat(this.chunks)];
    const length = frameLength(this.chunks[0]);
    if (length > this.maxFrameBytes) throw new Error(`a frame states ${length} bytes`);
    const end = FRAME_HEAD_BYTES + length;
    if (this.bytes < end) return null;
    const all = Buffer.concat(this.chunks);
    this.chunks = [all.subarray(end)];
    this.bytes -= end;
    return all.subarray(FRAME_HEAD_BYTES, end);
  }
}
