/** What a commit applies: the frames of a bundle, or the steps of retention. */
import { LargeMap } from '../compute/large-map.js';
import type { Removed } from '../compute/segment/remove.js';
import type { Frame, HeaderFrame, MarketsFrame } from './bundle.js';
import type { Added, CommitTools } from './commit.js';
import type { TokenRow } from './contract.js';
import { tokenKey } from './depth/catalog.js';
import { addRemoved, nothingRemoved } from './depth/depth-commit.js';
import { Replacements } from './depth/replacements.js';
import { nextRetentionStep, NO_LIMITS } from './depth/retention-steps.js';
import { checkSpelling } from './depth/stage.js';
import { ArchivedSegmentsError, RefusalError } from './errors.js';
import type { Entry } from './log/entry.js';
import type { CommitReport } from './operations.js';
import { Turns } from './turns.js';

type Retirement = Extract<Entry, { kind: 'retirement' }>;

/** Takes every step of retention that a token's cut-offs ask for. */
export async function retireAll(
  { token, cutoffs, made }: Retirement,
  { stage, depth }: CommitTools,
): Promise<Removed> {
  const removed = nothingRemoved();
  const known = stage.knownToken(token.chain, token.address);
  for (let step; known !== null; addRemoved(removed, await depth.retire(known, step))) {
    step = nextRetentionStep(await stage.directory(known), cutoffs, made, NO_LIMITS);
    if (step === null) break;
  }
  return removed;
}

/** What a bundle changed in the depth. */
type Applied = Omit<CommitReport, 'tokens'>;

/**
 * Applies every frame of a bundle.
 * @throws RefusalError naming the file if its rows contradict the store
 */
export async function applyBundle(
  frames: AsyncIterable<Frame>,
  tools: CommitTools,
): Promise<Applied & { added: Added }> {
  let application: Application | null = null;
  for await (const frame of frames) {
    if (frame.kind === 'header') application = new Application(frame, tools);
    else if (application === null) throw new Error('a bundle whose first frame is not a header');
    else await application.apply(frame);
  }
  if (application === null) throw new Error('a bundle without a header');
  return application.finish();
}

class Application {
  private segments = 0;
  private readonly deleted = nothingRemoved();
  /** Lines of the rows that give a token an asset, by token. */
  private readonly lines = new LargeMap<string, number>();
  private readonly added: Added = { rows: {}, cells: 0 };
  private readonly replacements = new Replacements();
  private readonly turns = new Turns();

  constructor(
    private readonly header: HeaderFrame,
    private readonly tools: CommitTools,
  ) {}

  async apply(frame: Exclude<Frame, HeaderFrame>): Promise<void> {
    const { file, mode } = this.header;
    const { stage, depth, flat, holders } = this.tools;
    await this.turns.take();
    switch (frame.kind) {
      case 'markets':
        return this.applyMarkets(frame);
      case 'segment':
        this.segments++;
        this.count('snapshots', frame.segment.times.length);
        this.added.cells += frame.segment.cells;
        return located(file, () => depth.add(frame, mode, this.replacements));
      case 'tokens':
        this.count('tokens', frame.rows.length);
        for (const { line, row } of frame.rows) {
          await this.turns.take();
          await located(`${file}:${line}`, () => stage.putRow(row));
          if (row.asset !== null) this.lines.set(tokenKey(row.chain, row.address), line);
        }
        return;
      case 'rows':
        this.count(frame.dataset, frame.rows.length);
        return located(file, () => flat.add(frame.dataset, frame.rows));
      case 'holders':
        this.count('holders', frame.times.length);
        return located(file, () => holders.add(frame));
      case 'delete':
        addRemoved(this.deleted, await depth.delete(frame));
        return;
      case 'delete-holders':
        this.deleted.snapshots += await holders.delete(frame);
        return;
      case 'restored':
        this.segments += await depth.restore(frame);
        return;
      case 'end':
        return;
    }
  }

  private count(dataset: string, rows: number): void {
    this.added.rows[dataset] = (this.added.rows[dataset] ?? 0) + rows;
  }

  private async applyMarkets({ chain, address, markets, origins }: MarketsFrame): Promise<void> {
    const { file, mode } = this.header;
    const { stage } = this.tools;
    const token = await located(file, () => stage.token(chain, address));
    for (const [i, market] of markets.entries()) {
      const origin = origins?.[i];
      const where = origin === undefined ? file : `${file}:${origin.line}`;
      await located(
        where,
        () => {
          if (mode === 'merge') checkSpelling(token, market);
          return stage.marketIndexes(token, [market]);
        },
        origin?.prefix,
      );
    }
  }

  /**
   * @throws RefusalError if the rows of the whole bundle contradict one another or the store
   * @throws LossError if the bundle refuses losses and would cause one
   */
  async finish(): Promise<Applied & { added: Added }> {
    const { flat, holders } = this.tools;
    await this.checkLegs();
    await located(this.header.file, () => flat.finish());
    await located(this.header.file, () => holders.finish());
    if (this.header.refusesLoss === true) this.replacements.checkLoss();
    const { replaced } = this.replacements;
    const { segments, deleted, added } = this;
    return { segments, replaced, deleted, added };
  }

  private async checkLegs(): Promise<void> {
    const conflict = await this.tools.stage.legConflict();
    if (conflict === null) return;
    const { asset, rows } = conflict;
    const lineOf = ({ chain, address }: TokenRow) => this.lines.get(tokenKey(chain, address));
    const line = lineOf(rows[1]) ?? lineOf(rows[0]);
    throw new RefusalError(
      `${this.header.file}${line === undefined ? '' : `:${line}`}: asset: ${asset} would have two ${rows[0].chain} legs, ${rows[0].address} and ${rows[1].address}`,
    );
  }
}

/**
 * Prefixes the message of a refusal with the location of the row that causes it.
 * @param prefix what the file has before the names of a market's fields
 */
async function located<T>(
  where: string,
  work: () => T | Promise<T>,
  prefix = 'markets.',
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // An archived segment is about no row, and for whoever made the change to take again.
    if (!(error instanceof RefusalError) || error instanceof ArchivedSegmentsError) throw error;
    throw new RefusalError(`${where}: ${error.message.replace(/^markets\./, prefix)}`);
  }
}
