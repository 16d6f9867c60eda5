/** The ladders that playback shows, fetched ahead in groups. */
import type { AddressClient } from '../../client/address-client.js';
import { stepName } from '../heatmap/detail.js';
import { type Ladder, type LadderFilter, ladderOf } from '../ladder/ladder.js';

/** Ladders per request. */
const FRAMES_OF_REQUEST = 48;
/** The next request begins when fewer ladders than this are ready. */
const READY_AHEAD = 24;
/** Ladders kept in memory: the last ones fetched. */
const MAX_FRAMES = 480;

/** A snapshot of the map. */
export interface Shot {
  t: number;
  /** The step with which it was fetched, in seconds; 0: every snapshot. */
  stepS: number;
}

export interface FramesSource {
  client: AddressClient;
  address: string;
  filter: LadderFilter;
}

export class Frames {
  /** Ladders by their time, in order of arrival. */
  private readonly ladders = new Map<number, Ladder>();
  /** Running requests: one entry for each time whose ladder a request will return. */
  private readonly coming = new Map<number, Promise<void>>();

  constructor(
    private readonly source: FramesSource,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * The ladder of a snapshot; also fetches the following ones.
   *
   * @param shots the map's snapshots, by ascending time
   * @returns null if the snapshot no longer exists
   * @throws errors of the client
   */
  async at(shots: readonly Shot[], index: number): Promise<Ladder | null> {
    const { t } = shots[index];
    if (!this.ladders.has(t)) await this.fetch(shots, index);
    const ahead = shots
      .slice(index, index + READY_AHEAD)
      .findIndex((one) => !this.ladders.has(one.t) && !this.coming.has(one.t));
    // A failure is reported when its ladders are needed.
    if (ahead > 0) this.fetch(shots, index + ahead).catch(() => undefined);
    return this.ladders.get(t) ?? null;
  }

  private fetch(shots: readonly Shot[], index: number): Promise<void> {
    const { t, stepS } = shots[index];
    const known = this.coming.get(t);
    if (known !== undefined) return known;
    const next = shots.slice(index, index + FRAMES_OF_REQUEST);
    const other = next.findIndex((one) => one.stepS !== stepS);
    const group = other < 0 ? next : next.slice(0, other);
    const request = this.load(group).finally(() => {
      for (const one of group) this.coming.delete(one.t);
    });
    for (const one of group) this.coming.set(one.t, request);
    return request;
  }

  private async load(shots: readonly Shot[]): Promise<void> {
    const { client, address, filter } = this.source;
    const step = stepName(shots[0].stepS);
    const to = shots[shots.length - 1].t + 1;
    for (let from: number | null = shots[0].t; from !== null && from < to;) {
      const page = await client.getReplay(
        { address, from, to, group: 'venue', step },
        { signal: this.signal },
      );
      for (const snapshot of page.snapshots) this.keep(ladderOf(page, snapshot, filter));
      from = page.next_from;
    }
  }

  private keep(ladder: Ladder): void {
    this.ladders.set(ladder.t, ladder);
    for (const t of this.ladders.keys()) {
      if (this.ladders.size <= MAX_FRAMES) break;
      this.ladders.delete(t);
    }
  }
}
