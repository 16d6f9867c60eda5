/** Line icons of 16 x 16. */
const PATHS = {
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 0 0 0-9zM10.3 10.300L13.5 13.5',
  sun: 'M8 5.200a2.8 2.8 0 1 0 0 5.600a2.8 2.8 0 0 0 0-5.600zM8 1.500v1.500M8 13v1.500M1.5 8H3M13 8h1.500M3.4 3.400l1.1 1.100M11.5 11.500l1.1 1.100M12.6 3.400l-1.1 1.100M4.5 11.500l-1.1 1.1',
  moon: 'M13 9.800A5.6 5.6 0 0 1 6.2 3a5.4 5.4 0 1 0 6.8 6.800z',
  key: 'M10.2 2.500a3.3 3.3 0 1 0 0 6.600a3.3 3.3 0 0 0 0-6.600zM7.8 8.200L2.5 13.500M4.5 11.500l1.8 1.8',
  copy: 'M5.5 5.500h8v8h-8zM3 10.500h-.5v-8h8V3',
  check: 'M3 8.500l3.2 3.200L13 4.8',
  share: 'M6.5 9.500L13.5 2.500M9 2.500h4.500V7M12 9.500v4H2.500V4h4',
  close: 'M4 4l8 8M12 4l-8 8',
  down: 'M4 6.500l4 4l4-4',
  save: 'M8 2.500v7.500M4.8 7l3.2 3.200L11.2 7M2.5 13.500h11',
  play: 'M5 3l8 5l-8 5z',
  pause: 'M5.5 3v10M10.5 3v10',
  back: 'M12.500 3.500L6.500 8l6 4.500zM3.500 3.500v9',
  forward: 'M3.500 3.500L9.500 8l-6 4.500zM12.500 3.500v9',
  star: 'M8 2l1.800 3.800l4.200.6l-3 2.900l.7 4.200L8 11.500l-3.700 2l.7-4.200l-3-2.900l4.200-.6z',
} as const;

export type IconName = keyof typeof PATHS | 'mark';

export function Icon({ name }: { name: IconName }) {
  if (name === 'mark') {
    return (
      <svg class="mark" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
        <g class="mark-resistance">
          <rect x="8" y="2" width="11" height="3" rx="1" />
          <rect x="12" y="6.5" width="7" height="3" rx="1" />
        </g>
        <g class="mark-support">
          <rect x="1" y="10.5" width="7" height="3" rx="1" />
          <rect x="1" y="15" width="12" height="3" rx="1" />
        </g>
      </svg>
    );
  }
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
