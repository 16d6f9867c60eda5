/** Replies of GET /market-depth, kept for as long as nothing of their token changes. */
import { KeptReply } from '../api/kept-reply.js';

/** Levels of all replies that are kept: some 200 bytes each with their encoded forms. */
export const MAX_KEPT_LEVELS = 200_000;
/** What a reply without levels counts as. */
const REPLY_OVERHEAD_LEVELS = 10;

interface Kept<T> {
  reply: KeptReply<T>;
  levels: number;
}

export class DepthReplies<T extends { depth_data: readonly unknown[] }> {
  /** The least recently used first. */
  private readonly replies = new Map<string, Kept<T>>();
  private levels = 0;

  constructor(private readonly maxLevels: number = MAX_KEPT_LEVELS) {}

  get keptLevels(): number {
    return this.levels;
  }

  /** The reply under a key that names everything it depends on. */
  get(key: string, make: () => T): KeptReply<T> {
    const known = this.replies.get(key);
    if (known !== undefined) {
      this.replies.delete(key);
      this.replies.set(key, known);
      return known.reply;
    }
    const document = make();
    const levels = document.depth_data.length + REPLY_OVERHEAD_LEVELS;
    const reply = new KeptReply(document);
    this.replies.set(key, { reply, levels });
    this.levels += levels;
    for (const [oldest, { levels: freed }] of this.replies) {
      if (this.levels <= this.maxLevels || oldest === key) break;
      this.replies.delete(oldest);
      this.levels -= freed;
    }
    return reply;
  }
}
