/** When a client received each snapshot, by the snapshot's time. */
export type HeardMs = Map<number, number>;

/** Records each time `"t":N` of a JSON text that has no other field `t`. */
export function noteTimes(json: Buffer, atMs: number, heardMs: HeardMs): void {
  const name = '"t":';
  for (let at = json.indexOf(name); at >= 0; at = json.indexOf(name, at + 1)) {
    heardMs.set(
      Number.parseInt(json.toString('latin1', at + name.length, at + name.length + 12)),
      atMs,
    );
  }
}
