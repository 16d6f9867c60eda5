/** A MessagePack decoder of the standard types, written from the format's specification. */

/** Decodes one document. Refuses extension types, keys that are not strings, and trailing bytes. */
export function decodeMsgpack(bytes: Uint8Array): unknown {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;

  const take = (length: number) => {
    at += length;
    if (at > bytes.length) throw new Error('document is cut short');
    return at - length;
  };
  const uint = (length: 1 | 2 | 4): number => {
    const from = take(length);
    if (length === 1) return view.getUint8(from);
    return length === 2 ? view.getUint16(from) : view.getUint32(from);
  };
  const text = (length: number): string => {
    const from = take(length);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(from, from + length));
  };
  const list = (length: number): unknown[] => {
    const items: unknown[] = [];
    for (let i = 0; i < length; i++) items.push(value());
    return items;
  };
  const map = (length: number): Record<string, unknown> => {
    const entries: [string, unknown][] = [];
    for (let i = 0; i < length; i++) {
      const key = value();
      if (typeof key !== 'string') throw new Error('a key is no string');
      entries.push([key, value()]);
    }
    return Object.fromEntries(entries);
  };

  function value(): unknown {
    const type = uint(1);
    if (type < 0x80) return type;
    if (type < 0x90) return map(type & 0x0f);
    if (type < 0xa0) return list(type & 0x0f);
    if (type < 0xc0) return text(type & 0x1f);
    if (type >= 0xe0) return type - 0x100;
    switch (type) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xca:
        return view.getFloat32(take(4));
      case 0xcb:
        return view.getFloat64(take(8));
      case 0xcc:
        return uint(1);
      case 0xcd:
        return uint(2);
      case 0xce:
        return uint(4);
      case 0xd0:
        return view.getInt8(take(1));
      case 0xd1:
        return view.getInt16(take(2));
      case 0xd2:
        return view.getInt32(take(4));
      case 0xd9:
        return text(uint(1));
      case 0xda:
        return text(uint(2));
      case 0xdb:
        return text(uint(4));
      case 0xdc:
        return list(uint(2));
      case 0xdd:
        return list(uint(4));
      case 0xde:
        return map(uint(2));
      case 0xdf:
        return map(uint(4));
      default:
        throw new Error(`type 0x${type.toString(16)} is not one that every library reads`);
    }
  }

  const document = value();
  if (at !== bytes.length) throw new Error(`${bytes.length - at} bytes left over`);
  return document;
}
