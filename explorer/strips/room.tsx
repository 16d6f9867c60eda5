/** The room of the strips until they are there, so that the map keeps its height. */

const NAMES = ['layers', 'lines'] as const;
export type StripName = (typeof NAMES)[number];

/** Where this browser remembers that a strip is folded. */
export const foldedItem = (name: StripName): string => `fathom.folded.${name}`;

export function StripsRoom() {
  return (
    <div class="strips-room" aria-hidden="true">
      {NAMES.map((name) => (
        <i key={name} class={name} data-folded={localStorage.getItem(foldedItem(name)) !== null} />
      ))}
    </div>
  );
}
