/** The button that opens the panel of exports. */
import { Deferred } from '../frame/deferred.js';
import { Icon } from '../frame/icon.js';
import { Popover } from '../frame/popover.js';
import type { ExportPanelProps } from './export-panel.js';

const loadPanel = async () => (await import('./export-panel.js')).ExportPanel;

export function ExportMenu(props: ExportPanelProps) {
  return (
    <Popover
      class="export"
      name="Export"
      label={
        <>
          <Icon name="save" />
          Export
        </>
      }
    >
      <Deferred load={loadPanel} props={props} />
    </Popover>
  );
}
