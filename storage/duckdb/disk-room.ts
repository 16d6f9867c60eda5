/** The free space on a database's disk: what a checkpoint needs, and which checkpoints and commits lack it. */
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { fileBytes, freeBytesOf } from '../disk.js';
import { DiskFullError, StoreUnavailableError } from '../errors.js';
import { Trouble } from '../trouble.js';
import { walOf } from './client.js';

/** Free bytes that a checkpoint may need: per byte of the WAL, and for the last row group. */
const FREE_BYTES_PER_WAL_BYTE = 4;
const SPARE_FREE_BYTES = 32 * 1024 * 1024;
/** Free bytes that a checkpoint of a small database may need beyond the size of its file. */
const LEAST_FREE_BYTES = 4 * 1024 * 1024;

/** The figures of a disk with too little room. */
export interface Shortage {
  freeBytes: number;
  walBytes: number;
  /** Free bytes that a checkpoint of this WAL may need. */
  neededBytes: number;
}

/** What waits for disk space. */
export type WaitsForRoom = 'checkpoints' | 'commits';

export interface RoomListener {
  /** Called once when checkpoints are postponed, or commits refused, for lack of space, and once when that is over. */
  onShortage?: ((what: WaitsForRoom, shortage: Shortage | null) => void) | undefined;
}

/** Disk figures of a store for its metrics. */
export interface DiskFigures {
  freeBytes: number;
  totalBytes: number;
  walBytes: number;
  checkpointsPostponed: number;
  commitsRefused: number;
}

export class DiskRoom {
  private checkpointsPostponed = 0;
  private commitsRefused = 0;
  private freeBytesWhenRefused = 0;
  private readonly checkpoints: Trouble<Shortage>;
  private readonly commits: Trouble<Shortage>;

  /** @param file of the database */
  constructor(
    private readonly file: string,
    { onShortage }: RoomListener,
  ) {
    const trouble = (what: WaitsForRoom): Trouble<Shortage> =>
      new Trouble({
        onBegan: (shortage) => onShortage?.(what, shortage),
        onOver: () => onShortage?.(what, null),
      });
    this.checkpoints = trouble('checkpoints');
    this.commits = trouble('commits');
  }

  walBytes(): Promise<number> {
    return fileBytes(walOf(this.file));
  }

  async figures(): Promise<DiskFigures> {
    const { bavail, blocks, bsize } = await statfs(path.dirname(this.file));
    const { checkpointsPostponed, commitsRefused } = this;
    return {
      freeBytes: bavail * bsize,
      totalBytes: blocks * bsize,
      walBytes: await this.walBytes(),
      checkpointsPostponed,
      commitsRefused,
    };
  }

  /** Whether there is room for a checkpoint. */
  async takesCheckpoint(): Promise<boolean> {
    const { freeBytes, neededBytes } = await this.look();
    return freeBytes >= neededBytes;
  }

  /** Records that a checkpoint was due and was postponed. */
  async postponed(): Promise<void> {
    this.checkpointsPostponed++;
    this.checkpoints.began('full', await this.look());
  }

  checkpointed(): void {
    this.checkpoints.over();
  }

  /** Records that a commit, or another write, found no room. */
  async refused(): Promise<void> {
    this.commitsRefused++;
    await this.noteFull();
  }

  /** Records that the disk is full: a commit would be refused. */
  async noteFull(): Promise<void> {
    const shortage = await this.look();
    this.freeBytesWhenRefused = shortage.freeBytes;
    this.commits.began('full', shortage);
  }

  /** Records that a commit has succeeded. Smaller writes can succeed on a disk with no room for a commit. */
  committed(): void {
    this.commits.over();
  }

  /**
   * Passes if commits are expected to succeed: the last one did, or there is room again.
   * @throws StoreUnavailableError
   */
  async checkCommits(): Promise<void> {
    if (!this.commits.lasts) return;
    const { freeBytes, neededBytes } = await this.look();
    // The disk's figures do not show a user's or process's quota: only a commit reveals it.
    const isFreed = freeBytes >= this.freeBytesWhenRefused + LEAST_FREE_BYTES;
    if (isFreed && freeBytes >= neededBytes) return this.commits.over();
    throw new StoreUnavailableError(
      `${new DiskFullError(this.file).message}: commits are refused, ${freeBytes} bytes are free`,
    );
  }

  private async look(): Promise<Shortage> {
    const freeBytes = await freeBytesOf(path.dirname(this.file));
    const walBytes = await this.walBytes();
    const spareBytes = Math.min(SPARE_FREE_BYTES, LEAST_FREE_BYTES + (await fileBytes(this.file)));
    return { freeBytes, walBytes, neededBytes: walBytes * FREE_BYTES_PER_WAL_BYTE + spareBytes };
  }
}
