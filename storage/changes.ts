/** Changes of a store: each is one commit, followed by calls to listeners and by work in the background. */
import type { Tier } from '../compute/market.js';
import type { Removed } from '../compute/segment/remove.js';
import { type Frame, framesOf, readBundle } from './bundle.js';
import { applyBundle, type Added, type CommitTools, retireAll } from './commit.js';
import type { StoreChange, TokenName } from './contract.js';
import type { CommitReport } from './operations.js';
import { type Cutoffs, nextRetentionStep, type RetentionStep } from './depth/retention-steps.js';
import { Housekeeping } from './housekeeping.js';
import type { Entry, SharedEntry } from './log/entry.js';
import type { LogMark } from './log/mark.js';
import type { StoreParts } from './opening.js';
import { Turns } from './turns.js';

/** Tokens in one call of a listener. */
const TOKENS_AT_ONCE = 256;
const NO_CHANGE: StoreChange = {
  tokenIds: [],
  dcaTokens: [],
  limitTokens: [],
  holderTokens: [],
  dlmmPools: false,
  dlmmHours: false,
  tokenHours: false,
};

export class Changes {
  readonly housekeeping: Housekeeping;
  /** Whether anything changed since the store was opened. */
  any = false;

  constructor(
    private readonly parts: StoreParts,
    onHousekeepingError: (error: unknown) => void,
  ) {
    this.housekeeping = new Housekeeping(parts, onHousekeepingError);
  }

  /**
   * Commits a bundle.
   * @param mark written with it
   * @throws InputError | StoreChangedError, with the store unchanged
   */
  async commit(frames: () => AsyncIterable<Frame>, mark: LogMark): Promise<CommitReport> {
    const beganMs = performance.now();
    const { result, change } = await this.run((tools) => applyBundle(frames(), tools), mark);
    const { added, ...applied } = result;
    this.parts.events.emit('commit', added, performance.now() - beganMs);
    return { tokens: change.tokenIds.length, ...applied };
  }

  /**
   * Like commit(), but leaves the store unchanged.
   * @throws InputError | StoreChangedError
   */
  rehearse(bundle: string): Promise<CommitReport> {
    return this.parts.commits.rehearse(async (tools) => {
      const frames = readBundle(this.parts.directory, bundle);
      const { segments, replaced, deleted } = await applyBundle(frames, tools);
      return { tokens: tools.stage.touched.length, segments, replaced, deleted };
    });
  }

  /** Applies entries of a log in one transaction. Revisions get the position of the entry that made them. */
  async applyEntries(entries: readonly SharedEntry[], mark: LogMark): Promise<void> {
    const beganMs = performance.now();
    const first = mark.position - entries.length + 1;
    const { result } = await this.run(async (tools) => {
      const added: Added[] = [];
      for (const [i, entry] of entries.entries()) {
        if (i > 0)
          await this.parts.revisions.write(tools.stage, { ...mark, position: first + i - 1 });
        if (entry.kind === 'retirement') await retireAll(entry, tools);
        else added.push((await applyBundle(framesOf(entry.bundle), tools)).added);
      }
      return added;
    }, mark);
    const tookMs = (performance.now() - beganMs) / entries.length;
    for (const added of result) this.parts.events.emit('commit', added, tookMs);
  }

  /** Takes all retention steps of a log's entry, in one transaction. */
  async retireAll(entry: Extract<Entry, { kind: 'retirement' }>, mark: LogMark): Promise<Removed> {
    return (await this.run((tools) => retireAll(entry, tools), mark)).result;
  }

  /** As Store.dueStep(). */
  async dueStep(
    { chain, address }: TokenName,
    cutoffs: Cutoffs,
    made: readonly Tier[],
  ): Promise<RetentionStep | null> {
    const { catalog, directories } = this.parts;
    const entry = catalog.token(chain, address);
    return entry ? nextRetentionStep(await directories.get(entry.tokenId), cutoffs, made) : null;
  }

  /** Runs `body` in one transaction; listeners hear what it changed before this resolves. */
  private async run<T>(
    body: (tools: CommitTools) => Promise<T>,
    mark: LogMark,
  ): Promise<{ result: T; change: StoreChange }> {
    const withRevisions = async (tools: CommitTools): Promise<T> => {
      const result = await body(tools);
      await this.parts.revisions.write(tools.stage, mark);
      return result;
    };
    const done = await this.parts.commits.run(withRevisions, mark);
    this.any = true;
    const turns = new Turns();
    for (const part of changesInTurns(done.change)) {
      const { catalog, events, queue } = this.parts;
      events.emit('change', part);
      queue.settle(part.tokenIds.flatMap((id) => catalog.tokenById(id)?.row ?? []));
      await turns.take();
    }
    this.housekeeping.after(done.change.tokenIds);
    return done;
  }
}

/** Splits a change into parts of few tokens. The first part also has the changes that are not about tokens. */
function* changesInTurns(change: StoreChange): Generator<StoreChange> {
  const { tokenIds, dcaTokens, limitTokens, holderTokens } = change;
  const lists = [tokenIds, dcaTokens, limitTokens, holderTokens];
  const longest = Math.max(...lists.map(({ length }) => length));
  for (let from = 0; from === 0 || from < longest; from += TOKENS_AT_ONCE) {
    const part = <T>(list: readonly T[]): T[] => list.slice(from, from + TOKENS_AT_ONCE);
    yield {
      ...(from === 0 ? change : NO_CHANGE),
      tokenIds: part(tokenIds),
      dcaTokens: part(dcaTokens),
      limitTokens: part(limitTokens),
      holderTokens: part(holderTokens),
    };
  }
}
