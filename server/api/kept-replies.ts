/** Replies that are kept for as long as they hold, within a bound. */
import { KeptReply } from './kept-reply.js';

interface Kept<T> {
  reply: KeptReply<T>;
  size: number;
}

export interface KeptRepliesOptions<T> {
  /** What a document counts, in a unit of the caller's. */
  sizeOf: (document: T) => number;
  /** The same of all replies that are kept. */
  maxSize: number;
}

export class KeptReplies<T> {
  /** The least recently used first. */
  private readonly replies = new Map<string, Kept<T>>();
  private size = 0;

  constructor(private readonly options: KeptRepliesOptions<T>) {}

  /** Size of all that is kept. */
  get keptSize(): number {
    return this.size;
  }

  /** The reply under a key that names everything it depends on; null: it is to be made. */
  find(key: string): KeptReply<T> | null {
    const known = this.replies.get(key);
    if (known === undefined) return null;
    this.replies.delete(key);
    this.replies.set(key, known);
    return known.reply;
  }

  /** Keeps a document under such a key. */
  put(key: string, document: T): KeptReply<T> {
    this.drop(key);
    const size = this.options.sizeOf(document);
    const reply = new KeptReply(document);
    this.replies.set(key, { reply, size });
    this.size += size;
    for (const oldest of this.replies.keys()) {
      if (this.size <= this.options.maxSize || oldest === key) break;
      this.drop(oldest);
    }
    return reply;
  }

  /** The kept reply, else one that is made now. */
  get(key: string, make: () => T): KeptReply<T> {
    return this.find(key) ?? this.put(key, make());
  }

  private drop(key: string): void {
    const known = this.replies.get(key);
    if (known === undefined) return;
    this.replies.delete(key);
    this.size -= known.size;
  }
}
