/** Finds the word that a mistyped command, flag or parameter probably means ('did you mean'). */

/** Only this many characters of a longer word are compared: no known word is nearly as long. */
const MAX_COMPARED_CHARS = 64;

/** How many edits a word of n characters may differ from a known word to count as a typing error. */
const maxEdits = (length: number): number => Math.max(1, Math.floor(length / 3));

/** The known word with the fewest edits from `word`, the first of several; null if there are no known words. */
export function nearest(word: string, known: readonly string[]): string | null {
  return ranked(word, known)[0]?.name ?? null;
}

/** The nearest known word if `word` is probably a misspelling or a beginning of it; otherwise null. */
export function closeMatch(word: string, known: readonly string[]): string | null {
  const best = ranked(word, known).find(
    ({ name, edits }) =>
      edits <= maxEdits(Math.min(word.length, name.length)) ||
      (word.length > 1 && name.startsWith(word.toLowerCase())),
  );
  return best?.name ?? null;
}

function ranked(word: string, known: readonly string[]): { name: string; edits: number }[] {
  const compared = word.slice(0, MAX_COMPARED_CHARS).toLowerCase();
  return known
    .map((name) => ({ name, edits: editsBetween(compared, name.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits);
}

/** Characters inserted, left out, replaced, or swapped with their neighbour (each once). */
export function editsBetween(a: string, b: string): number {
  // Rows of the table of distances between the beginnings of `a` and `b`: the one before last, the last, the current.
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(replaced, last[j] + 1, row[j - 1] + 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) row[j] = Math.min(row[j], beforeLast[j - 2] + 1);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length];
}
