/** Work of many keys: each key has a few lanes of its own, so that one key's work waits for no other's. */
import { Turns } from '../../storage/turns.js';

/** Works of one key that are under way at a time: each may hold an encoded message. */
const LANES = 4;
/** Keys that are compared to find the one with the least work. */
const MAX_COMPARED = 16;

interface Queue {
  works: Set<(turns: Turns) => Promise<void>>;
  lanes: number;
}

export class KeyLanes {
  private readonly queues = new Map<string, Queue>();

  /** Runs work after what waits in the lanes of the key. @param work gets the turns of its lane */
  run<T>(keyId: string, work: (turns: Turns) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const queue = this.queues.get(keyId) ?? { works: new Set(), lanes: 0 };
      this.queues.set(keyId, queue);
      queue.works.add((turns) => work(turns).then(resolve, reject));
      if (queue.lanes < LANES) void this.workOff(keyId, queue);
    });
  }

  /** A key of the owners for which little work waits. */
  leastBusy(owners: Iterable<{ readonly keyId: string }>): string {
    let least = { keyId: '', works: Infinity };
    const compared = new Set<string>();
    for (const { keyId } of owners) {
      if (compared.has(keyId)) continue;
      const works = this.queues.get(keyId)?.works.size ?? 0;
      if (works < least.works) least = { keyId, works };
      if (works === 0 || compared.add(keyId).size === MAX_COMPARED) break;
    }
    return least.keyId;
  }

  private async workOff(keyId: string, queue: Queue): Promise<void> {
    queue.lanes++;
    const turns = new Turns();
    for (const work of queue.works) {
      queue.works.delete(work);
      await turns.take();
      await work(turns);
    }
    if (--queue.lanes === 0) this.queues.delete(keyId);
  }
}
