/** Controls for the heatmap and the ladder: window, price band, grouping, types, venues. */
import { Deferred } from '../frame/deferred.js';
import { Icon } from '../frame/icon.js';
import { Popover } from '../frame/popover.js';
import type { Ladder } from '../ladder/ladder.js';
import { isShown } from '../state/choices.js';
import { useModule } from '../state/use-module.js';
import {
  type Band,
  FULL_BAND,
  GROUPS,
  ORDER_KINDS,
  PRESET_S,
  PRESETS,
  TYPES,
  type TokenView,
} from '../state/url.js';
import type { ChoiceListProps } from './choice-list.js';

const BANDS: readonly { label: string; band: Band }[] = [
  { label: '±2%', band: { minPct: -2, maxPct: 2 } },
  { label: '±5%', band: { minPct: -5, maxPct: 5 } },
  { label: '±10%', band: { minPct: -10, maxPct: 10 } },
  { label: '±25%', band: { minPct: -25, maxPct: 25 } },
  { label: 'Full', band: FULL_BAND },
];
const loadList = async () => (await import('./choice-list.js')).ChoiceList;
const GROUP_LABELS = { venue: 'Venue', type: 'Type', market: 'Market', all: 'Nothing' } as const;

interface FiltersProps {
  view: TokenView;
  /** Of the snapshot shown; null if not known yet. */
  choices: Ladder['choices'] | null;
  /** How far the token's history reaches back, seconds; null if unknown. */
  historyS: number | null;
  onChange: (view: TokenView) => void;
}

/** Not needed before the map. */
const loadLayoutMenu = async () => (await import('./layout-menu.js')).LayoutMenu;

export function Filters({ view, choices, historyS, onChange }: FiltersProps) {
  const change = (part: Partial<TokenView>): void => onChange({ ...view, ...part });
  const LayoutMenu = useModule(loadLayoutMenu);
  const isFiltered = view.types.length + view.venues.length + view.excludedVenues.length > 0;
  return (
    <div class="filters" role="toolbar" aria-label="Filters">
      <div class="segments" role="group" aria-label="Window">
        {PRESETS.map((preset, at) => (
          <button
            key={preset}
            type="button"
            aria-pressed={view.window === preset}
            disabled={
              view.window !== preset &&
              at > 0 &&
              historyS !== null &&
              PRESET_S[PRESETS[at - 1]] >= historyS
            }
            onClick={() => change({ window: preset, zoom: null })}
          >
            {preset}
          </button>
        ))}
        <button
          type="button"
          aria-pressed={view.window === 'all'}
          title="The whole history"
          onClick={() => change({ window: 'all', zoom: null })}
        >
          All
        </button>
        {typeof view.window === 'object' && (
          <button type="button" aria-pressed={true}>
            Fixed
          </button>
        )}
      </div>
      <div class="segments" role="group" aria-label="Price band">
        {BANDS.map(({ label, band }) => (
          <button
            key={label}
            type="button"
            aria-pressed={band.minPct === view.band.minPct && band.maxPct === view.band.maxPct}
            onClick={() => change({ band })}
          >
            {label}
          </button>
        ))}
      </div>
      <label class="select">
        <span>Split by</span>
        <select
          value={view.group}
          onChange={(event) =>
            change({ group: GROUPS.find((one) => one === event.currentTarget.value) ?? 'venue' })
          }
        >
          {GROUPS.map((group) => (
            <option key={group} value={group}>
              {GROUP_LABELS[group]}
            </option>
          ))}
        </select>
      </label>
      <Choices
        name="Types"
        parts={choices?.types ?? []}
        choice={{ chosen: view.types, leftOut: [] }}
        onChange={(choice) => {
          const types = TYPES.filter((one) => isShown(choice, one));
          change({ types: types.length === TYPES.length ? [] : types });
        }}
      />
      <Choices
        name="Venues"
        parts={choices?.venues ?? []}
        choice={{ chosen: view.venues, leftOut: view.excludedVenues }}
        onChange={({ chosen, leftOut }) => change({ venues: chosen, excludedVenues: leftOut })}
      />
      <div class="choice-group">
        <span class="note">Orders</span>
        <div class="segments" role="group" aria-label="Orders of others on the map">
          {ORDER_KINDS.map((kind) => (
            <button
              key={kind}
              type="button"
              aria-pressed={view.marks.includes(kind)}
              onClick={() =>
                change({
                  marks: ORDER_KINDS.filter((one) => view.marks.includes(one) !== (one === kind)),
                })
              }
            >
              {kind === 'limit' ? 'Limit' : 'DCA'}
            </button>
          ))}
        </div>
      </div>
      {isFiltered && (
        <button
          type="button"
          class="plain"
          onClick={() => change({ types: [], venues: [], excludedVenues: [] })}
        >
          <Icon name="close" />
          Clear
        </button>
      )}
      {LayoutMenu !== null && <LayoutMenu />}
    </div>
  );
}

interface ChoicesProps extends ChoiceListProps {
  name: string;
}

/** A menu that filters by several types or venues. */
function Choices({ name, ...list }: ChoicesProps) {
  const { chosen, leftOut } = list.choice;
  const others = leftOut.length === 0 ? 'all' : `all but ${leftOut.length}`;
  const label = (
    <>
      {name}
      <span class="note">{chosen.length === 0 ? others : chosen.length}</span>
      <Icon name="down" />
    </>
  );
  return (
    <Popover label={label} name={name}>
      <Deferred load={loadList} props={list} />
    </Popover>
  );
}
