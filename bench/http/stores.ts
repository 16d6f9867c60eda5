/** The stores that `npm run bench:http` serves, by what is requested from them. */
import { DAY_S, HOUR_S } from '../../compute/time.js';
import { fullSegmentStore } from '../data/full-segments.js';
import { asOfS as endOfStoreS } from '../data/growth-store.js';
import { benchAddress, HISTORY_PAGES, PAGE_A, START_S, tokenHistory } from '../data/pages.js';
import { windowOf } from '../data/requests.js';
import { commitHistory, fillStore, makeStore, unlimitedKey } from '../store.js';
import { COLLECTED_S, fillBots } from './collector.js';

/** A closed store. */
export interface HttpStore {
  directory: string;
  /** A folder for files to ingest. */
  folder: string;
  /** A key without limits. */
  key: string;
  /** Tokens with full pages. */
  tokens: number;
  /** The server's clock: after all stored data. */
  nowS: number;
}

type Place = Pick<HttpStore, 'directory' | 'folder'>;

/** Tokens that bots request, each with one small snapshot. */
export const botTokens = (smoke: boolean): number => (smoke ? 20 : 1000);
/** Days of minute snapshots for series of hours, and of days. */
export const daysOf = (smoke: boolean) => ({ month: smoke ? 1 : 30, year: smoke ? 2 : 365 });
/** Numbers of venues of the tokens whose order costs are requested. */
export const VENUES = [4, 20] as const;

export const MINUTE_S = 60;
/** Index of the token with the long history, after those with pages. */
const LONG_INDEX = 1000;
export const LONG_TOKEN = benchAddress(LONG_INDEX);
const LONG_SHAPE = { name: 'long', snapshots: 288, markets: 2, cells: 4 };
/** 300,000 of them, with their gaps, take 353 days. */
const LONG_EVERY_S = 100;
const SNAPSHOTS_PER_GAP = 300;
const GAP_S = 500;

/** Of the day that is not closed; days before it are due after an hour. */
const OPEN_S = 2 * HOUR_S;

/** The clock of a server of whole pages. */
const AFTER_PAGES_S = windowOf(0, (HISTORY_PAGES + 1) * PAGE_A.snapshots).to;

/** Makes a store of each name. */
export const STORES = {
  /** Two pages of each token. */
  pages: (place: Place, smoke: boolean) => pages(place, smoke ? 2 : 32),
  /** The same, with more fragments than a small memory holds. */
  history: (place: Place, smoke: boolean) => pages(place, smoke ? 2 : 48),
  month: (place: Place, smoke: boolean) => minutes(place, smoke ? 1 : 4, daysOf(smoke).month),
  year: (place: Place, smoke: boolean) => minutes(place, 1, daysOf(smoke).year),
  /** A snapshot of each token, with different numbers of venues. */
  orders: async (place: Place) => {
    const key = await fillStore(place.directory, async (store) => {
      for (const [token, venues] of VENUES.entries()) {
        const history = tokenHistory({ ...PAGE_A, markets: venues }, 1, token);
        const spot = { exchangeType: 'CEX', type: 'cex_spot', address: null } as const;
        const markets = history.markets.map((market, m) => {
          return { ...market, ...spot, source: `Venue ${m}` };
        });
        await commitHistory(store, { ...history, markets });
      }
      return unlimitedKey(store);
    });
    return { ...place, key, tokens: VENUES.length, nowS: START_S + 1 };
  },
  /** Pages, tokens for bots, and a token with a long history. */
  bots: async (place: Place, smoke: boolean) => {
    const made = await pages(place, smoke ? 2 : 32);
    const filledS = made.nowS - COLLECTED_S;
    await fillBots({ ...place, tokens: botTokens(smoke), fromS: filledS });
    const snapshots = smoke ? 3000 : 300_000;
    await fillStore(place.directory, (store) =>
      commitHistory(store, longHistory(snapshots, filledS)),
    );
    return made;
  },
} satisfies Record<string, (place: Place, smoke: boolean) => Promise<HttpStore>>;
export type StoreName = keyof typeof STORES;

/** Tokens with a snapshot a minute: some hours of a day, whole days, and a day that is not closed. */
export interface ArchivedStore extends HttpStore {
  fromS: number;
  /** Of each token, in its closed days. */
  archivedSnapshots: number;
  /** Of all tokens. */
  closedDays: number;
}

/** Also has bots' tokens. @param days whole ones */
export async function archivedStore(
  place: Place,
  { tokens, days, smoke }: { tokens: number; days: number; smoke: boolean },
): Promise<ArchivedStore> {
  const openS = (Math.floor(START_S / DAY_S) + 1 + days) * DAY_S;
  const nowS = openS + OPEN_S;
  const { key } = await fullSegmentStore({
    name: 'archived',
    directory: place.directory,
    tokens,
    snapshots: (nowS - START_S) / MINUTE_S,
    pageSnapshots: 1,
    everyS: MINUTE_S,
  });
  await fillBots({ ...place, tokens: botTokens(smoke), fromS: nowS - MINUTE_S });
  const archivedSnapshots = (openS - START_S) / MINUTE_S;
  return {
    ...place,
    key,
    tokens,
    nowS,
    fromS: START_S,
    archivedSnapshots,
    closedDays: tokens * (days + 1),
  };
}

async function pages(place: Place, tokens: number): Promise<HttpStore> {
  const { key } = await makeStore(place.directory, PAGE_A, tokens);
  return { ...place, key, tokens, nowS: AFTER_PAGES_S };
}

async function minutes(place: Place, tokens: number, days: number): Promise<HttpStore> {
  const store = await fullSegmentStore({
    name: 'minutes',
    directory: place.directory,
    tokens,
    snapshots: (days * DAY_S) / MINUTE_S,
    pageSnapshots: 1,
    everyS: MINUTE_S,
  });
  return { ...place, key: store.key, tokens, nowS: endOfStoreS(store) };
}

/** @param endS the last snapshot's time */
function longHistory(snapshots: number, endS: number) {
  const { run, markets } = tokenHistory(LONG_SHAPE, snapshots, LONG_INDEX);
  const ageS = (age: number): number =>
    age * LONG_EVERY_S + Math.floor(age / SNAPSHOTS_PER_GAP) * GAP_S;
  const t = Uint32Array.from(run.t, (_, s) => endS - ageS(snapshots - 1 - s));
  return { run: { ...run, t }, markets };
}
