/** Replies of servers that nobody here trusts to be short. */

/**
 * The text of a reply's body.
 * @param tooLong makes the error thrown for a body of more than `maxBytes`, of which no more is read
 */
export async function boundedText(
  response: Response,
  maxBytes: number,
  tooLong: () => Error,
): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    parts.push(part as Uint8Array);
    bytes += (part as Uint8Array).length;
    if (bytes > maxBytes) throw tooLong();
  }
  return Buffer.concat(parts).toString();
}
