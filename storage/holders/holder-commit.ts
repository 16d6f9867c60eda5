/** Lays holder snapshots over the stored ones and thins what has aged, within one transaction. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MAX_OWNERS_PER_TOKEN } from '../../compute/holders/limits.js';
import { OwnerTable, noNames } from '../../compute/holders/owner-table.js';
import { keptTimes } from '../../compute/holders/thinning.js';
import type { HoldersFrame } from '../bundle/frames.js';
import { InputError } from '../errors.js';
import { readNames, readRefs } from './rows.js';
import { planRewrites, type PlannedRewrite } from './rewrite-plan.js';
import { StagedToken, type HolderTools } from './staged-token.js';
import type { TokenState } from './token-states.js';

/** Owners of all tokens that a transaction holds in memory, at about 70 bytes each: 140 MiB. */
const MAX_STAGED_OWNERS = 2 * 1024 * 1024;

/** Names looked up before other work gets its turn: a millisecond or two. */
const NAMES_A_TURN = 16_384;

export class HolderCommit {
  private readonly staged = new Map<string, StagedToken>();
  private readonly added = new Map<string, number>();
  private readonly changed = new Set<string>();

  constructor(private readonly tools: HolderTools) {}

  /** Mints whose stored snapshots are others than before. */
  get changedTokens(): string[] {
    return [...this.changed];
  }

  /**
   * Puts a token's snapshots in place of those of the same t; ones that thinning would not keep are
   * left out.
   * @throws InputError where the token would have too many owners
   */
  async add(frame: HoldersFrame): Promise<void> {
    const token = await this.stage(frame.tokenAddress);
    const stored = token.refs.flatMap(({ times }) => [...times]);
    const all = [...new Set([...stored, ...frame.times])].sort((a, b) => a - b);
    const kept = new Set(keptTimes(all));
    const added = [...frame.times].filter((t) => kept.has(t));
    if (added.length === 0) return;
    const ids = await numbersOf(token, frame);
    // From the last to the first: the earlier ones' places stay what they are.
    for (const rewrite of planRewrites(token.refs, added, kept).reverse()) {
      if (await this.rewrite(token, rewrite, frame, ids)) this.changed.add(frame.tokenAddress);
    }
    if (this.stagedOwners() <= MAX_STAGED_OWNERS) return;
    await this.finish();
    this.staged.clear();
  }

  /** Writes what is still held back: the last thing before the commit. */
  async finish(): Promise<void> {
    for (const token of this.staged.values()) await token.finish();
  }

  /** Makes tokens that are new known to readers, once it has committed. */
  publish(): void {
    const { registry } = this.tools;
    registry.publish(this.added);
    for (const { holderId, state } of this.staged.values()) registry.states.keep(holderId, state);
  }

  /** @returns whether it changed anything */
  private async rewrite(
    token: StagedToken,
    { from, to, times, adds, drops }: PlannedRewrite,
    { block }: HoldersFrame,
    ids: Uint32Array,
  ): Promise<boolean> {
    const wanted = new Set(times);
    const refs = token.refs.slice(from, to).filter((ref) => ref.times.some((t) => wanted.has(t)));
    if (times.length === 0) {
      await token.replace(from, to, []);
      return true;
    }
    const blocks = await this.tools.rewrite({
      stored: await token.blocksOf(refs),
      added: adds ? { block, ids } : null,
      renumbered: null,
      times: Uint32Array.from(times),
      always: drops,
    });
    if (blocks === null) return false;
    await token.replace(from, to, blocks);
    return true;
  }

  private async stage(tokenAddress: string): Promise<StagedToken> {
    let token = this.staged.get(tokenAddress);
    if (token === undefined) {
      const holderId = this.tools.registry.id(tokenAddress) ?? this.added.get(tokenAddress);
      token =
        holderId === undefined
          ? await this.create(tokenAddress)
          : new StagedToken(this.tools, holderId, await this.load(holderId));
      this.staged.set(tokenAddress, token);
    }
    return token;
  }

  private async load(holderId: number): Promise<TokenState> {
    const { tx, registry } = this.tools;
    const kept = registry.states.take(holderId);
    if (kept !== undefined) return kept;
    const [[counted]] = await tx.rows(
      'SELECT counted_owners FROM holder_tokens WHERE holder_id = ?',
      [holderId],
    );
    return {
      refs: await readRefs(tx, holderId),
      owners: new OwnerTable(await readNames(tx, holderId)),
      countedOwners: counted as number,
    };
  }

  private async create(tokenAddress: string): Promise<StagedToken> {
    const holderId = this.tools.registry.nextTokenId(this.added.size);
    await this.tools.tx.run('INSERT INTO holder_tokens VALUES (?, ?, 0)', [holderId, tokenAddress]);
    this.added.set(tokenAddress, holderId);
    const owners = new OwnerTable(noNames());
    return new StagedToken(this.tools, holderId, { refs: [], owners, countedOwners: 0 });
  }

  private stagedOwners(): number {
    let owners = 0;
    for (const token of this.staged.values()) owners += token.owners.size;
    return owners;
  }
}

async function numbersOf(token: StagedToken, frame: HoldersFrame): Promise<Uint32Array> {
  const { names, tokenAddress } = frame;
  const hasRoom = (): boolean =>
    token.owners.size + names.offsets.length - 1 <= MAX_OWNERS_PER_TOKEN ||
    token.owners.size + token.owners.countNew(names) <= MAX_OWNERS_PER_TOKEN;
  if (!hasRoom()) await token.dropUnused();
  if (!hasRoom()) {
    throw new InputError(
      `owner: the stored snapshots of ${tokenAddress} would name more than ${MAX_OWNERS_PER_TOKEN} owners`,
    );
  }
  const numbers = new Uint32Array(names.offsets.length - 1);
  for (let from = 0; from < numbers.length; from += NAMES_A_TURN) {
    const to = Math.min(from + NAMES_A_TURN, numbers.length);
    token.owners.number(names, from, to, numbers);
    await nextTurn();
  }
  return numbers;
}
