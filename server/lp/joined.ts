/** Joins the texts of a task's input without holding the event loop up. */
import { type JoinedTexts, partsOf } from '../../compute/joined-texts.js';
import { listInTurns } from '../../storage/turns.js';

export async function joinTexts(texts: readonly string[]): Promise<JoinedTexts> {
  return { parts: await listInTurns(partsOf(texts)) };
}
