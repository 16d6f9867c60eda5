/** Texts that many rows repeat, held once: as results give them, each row has a copy of its own. */
export class SharedTexts {
  private readonly texts = new Map<string, string>();

  /** The one copy of a text. */
  of(text: string): string {
    const known = this.texts.get(text);
    if (known !== undefined) return known;
    this.texts.set(text, text);
    return text;
  }
}
