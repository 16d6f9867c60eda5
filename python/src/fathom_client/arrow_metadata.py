"""The metadata of an Arrow stream's schema, which polars does not give."""

from __future__ import annotations

import struct

CONTINUES = 0xFFFFFFFF
# Positions of fields in the tables of Arrow's Message.fbs and Schema.fbs.
MESSAGE_HEADER = 2
SCHEMA_METADATA = 2
PAIR_KEY, PAIR_VALUE = 0, 1


def schema_metadata(stream: bytes) -> dict[str, str]:
    """Keys and values of the first message, a schema.

    Raises:
        ValueError: if this is no Arrow stream.
    """
    try:
        first, size = struct.unpack_from("<II", stream)
        if first != CONTINUES or size > len(stream) - 8:
            raise ValueError("no Arrow stream")
        buffer = stream[8 : 8 + size]
        schema = _Table(buffer, _u32(buffer, 0)).table(MESSAGE_HEADER)
        pairs = schema.tables(SCHEMA_METADATA)
        return {pair.text(PAIR_KEY): pair.text(PAIR_VALUE) for pair in pairs}
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError("no Arrow stream") from error


def _u32(buffer: bytes, at: int) -> int:
    (value,) = struct.unpack_from("<I", buffer, at)
    return int(value)


class _Table:
    """A table of FlatBuffers."""

    def __init__(self, buffer: bytes, at: int) -> None:
        self._buffer = buffer
        self._at = at
        (offset,) = struct.unpack_from("<i", buffer, at)
        self._fields = at - offset

    def _field(self, index: int) -> int | None:
        """Where the value that a field refers to begins; None if the table lacks it."""
        (size,) = struct.unpack_from("<H", self._buffer, self._fields)
        place = 4 + 2 * index
        if place >= size:
            return None
        (offset,) = struct.unpack_from("<H", self._buffer, self._fields + place)
        if offset == 0:
            return None
        at = self._at + int(offset)
        return at + _u32(self._buffer, at)

    def table(self, index: int) -> _Table:
        at = self._field(index)
        if at is None:
            raise ValueError("no Arrow schema")
        return _Table(self._buffer, at)

    def tables(self, index: int) -> list[_Table]:
        at = self._field(index)
        if at is None:
            return []
        items = range(at + 4, at + 4 + 4 * _u32(self._buffer, at), 4)
        return [_Table(self._buffer, item + _u32(self._buffer, item)) for item in items]

    def text(self, index: int) -> str:
        at = self._field(index)
        if at is None:
            return ""
        return self._buffer[at + 4 : at + 4 + _u32(self._buffer, at)].decode()
