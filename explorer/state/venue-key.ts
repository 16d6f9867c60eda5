/** docs/api.md#market-filters: the name in lower case, with a dash for each run of other characters. */
export function venueKey(source: string): string {
  return source
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}
