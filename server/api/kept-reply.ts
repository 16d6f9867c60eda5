/** A reply that many requests get: each form of it is encoded once. */
import type { SmallBodyForm } from './forms.js';

export class KeptReply<T = unknown> {
  readonly document: T;
  /** Encoded bodies by form, filled as they are asked for. */
  readonly encoded = new Map<SmallBodyForm, { plain: boolean; body: Uint8Array }>();

  /** @param document must not change any more */
  constructor(document: T) {
    this.document = document;
  }
}
