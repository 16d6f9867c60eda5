/** Finds the known word that a mistyped command, flag or parameter was meant to be ('did you mean'). */

/** A longer word is compared up to here: no known word is near that length. */
const MAX_COMPARED_CHARS = 64;

/** A word of n characters may differ from what was meant in this many edits. */
const closeEdits = (length: number): number => Math.max(1, Math.floor(length / 3));

/** The known word with the fewest edits from `word`, the first of equals; null if none is known. */
export function nearest(word: string, known: readonly string[]): string | null {
  return ranked(word, known)[0]?.name ?? null;
}

/** The nearest known word if it is close enough to be what was meant: a slip or two, or its beginning. */
export function meant(word: string, known: readonly string[]): string | null {
  const best = ranked(word, known).find(
    ({ name, edits }) =>
      edits <= closeEdits(Math.min(word.length, name.length)) ||
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
  // The rows of the table of distances between the beginnings of `a` and of `b`: two back, last, this.
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
