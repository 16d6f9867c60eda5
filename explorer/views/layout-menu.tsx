/** Chooses the panels beside the map. */
import { Icon } from '../frame/icon.js';
import { Popover } from '../frame/popover.js';
import { hiddenPanels, hidePanels, type Panel, PANELS } from '../state/layout.js';
import { useValue } from '../state/use-value.js';
import { toggled } from '../state/choices.js';

const LABELS: Readonly<Record<Panel, string>> = {
  ladder: 'Ladder',
  order: 'Order',
  score: 'Score',
  venues: 'Venues',
  markets: 'Markets',
  difference: 'Difference',
};

export function LayoutMenu() {
  const hidden = useValue(hiddenPanels);
  const toggle = (panel: Panel): void => {
    const next = toggled(hidden, panel);
    hidePanels(PANELS.filter((one) => next.includes(one)));
  };
  const label = (
    <>
      Panels
      {hidden.length > 0 && <span class="note">{PANELS.length - hidden.length}</span>}
      <Icon name="down" />
    </>
  );
  return (
    <Popover label={label} name="Panels" title="The panels beside the map, kept in this browser">
      {PANELS.map((panel) => (
        <label key={panel} class="choice">
          <input type="checkbox" checked={!hidden.includes(panel)} onChange={() => toggle(panel)} />
          <span>{LABELS[panel]}</span>
        </label>
      ))}
      {hidden.length > 0 && (
        <button type="button" class="plain" onClick={() => hidePanels([])}>
          Show all
        </button>
      )}
    </Popover>
  );
}
