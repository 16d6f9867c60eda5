"""Documents of the API as typed objects, and their rows as tables."""

from __future__ import annotations

import dataclasses
import keyword
import types
import typing
from collections.abc import Callable, Iterable
from functools import cache as _cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas
    import polars

D = TypeVar("D", bound="Document")
T = TypeVar("T")

DIGIT_PREFIX = "last_"
"""Before names that begin with a digit: `7d` is `last_7d`."""


def _cached(function: Callable[[Any], T]) -> Callable[[Any], T]:
    """Types are hashable, which mypy does not know of classes with slots."""
    return _cache(function)


class Document:
    """A document of the API, or a part of one.

    Fields have the API's names, except that `from` is `from_` and `7d` is `last_7d`. A field that
    the server did not send is None.
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The document as the API sends it: JSON's names, without fields that are not there."""
        return {
            key: _plain(value)
            for name, key in _keys(type(self)).items()
            if (value := getattr(self, name)) is not None or _is_required(type(self), name)
        }

    def to_pandas(self, rows: str | None = None) -> pandas.DataFrame:
        """One row per item of the document's list.

        Args:
            rows: the field with the list; default: the first one that holds documents.
        """
        return pandas_frame(self._records(rows))

    def to_polars(self, rows: str | None = None) -> polars.DataFrame:
        """One row per item of the document's list.

        Args:
            rows: the field with the list; default: the first one that holds documents.
        """
        return polars_frame(self._records(rows))

    def _records(self, rows: str | None) -> dict[str, list[Any]]:
        lists = _row_lists(type(self))
        name = rows or next(iter(lists), None)
        if name is None or name not in lists:
            known = f"one of {', '.join(lists)}" if lists else "a document with a list of rows"
            raise ValueError(f"rows: expected {known}; {type(self).__name__} has no '{name}'")
        items: list[Document] = getattr(self, name) or []
        columns = _columns(lists[name])
        return {
            column: [_plain(value_of(item)) for item in items]
            for column, value_of in columns.items()
        }


def pandas_frame(columns: dict[str, Any]) -> pandas.DataFrame:
    frame: pandas.DataFrame = import_or_say("pandas", "pandas").DataFrame(columns)
    return frame


def polars_frame(columns: dict[str, Any]) -> polars.DataFrame:
    pl = import_or_say("polars", "polars")
    frame: polars.DataFrame = pl.DataFrame(columns, infer_schema_length=None)
    return frame


def import_or_say(module: str, extra: str) -> Any:
    """A module of an extra.

    Raises:
        ImportError: that names the extra to install.
    """
    try:
        return __import__(module)
    except ImportError as error:
        message = f"this needs {module}: pip install 'fathom-client[{extra}]'"
        raise ImportError(message, name=module) from error


def decode(cls: type[D], value: Any) -> D:
    """A document of a parsed JSON object. Fields that the class does not know are left out."""
    return typing.cast(D, _decoder(cls)(value))


@_cached
def _keys(cls: type[Document]) -> dict[str, str]:
    """The name of each field in JSON."""
    return {field.name: _key(field.name) for field in dataclasses.fields(typing.cast(Any, cls))}


def _key(name: str) -> str:
    if name.startswith(DIGIT_PREFIX) and name[len(DIGIT_PREFIX)].isdigit():
        return name[len(DIGIT_PREFIX) :]
    return name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name


def _is_required(cls: type[Document], name: str) -> bool:
    return name in _required(cls)


@_cached
def _required(cls: type[Document]) -> frozenset[str]:
    fields = dataclasses.fields(typing.cast(Any, cls))
    return frozenset(field.name for field in fields if field.default is dataclasses.MISSING)


def _plain(value: Any) -> Any:
    if isinstance(value, Document):
        return value.to_dict()
    if isinstance(value, list) and value and isinstance(value[0], (Document, list)):
        return [_plain(item) for item in value]
    return value


@_cached
def _decoder(hint: Any) -> Callable[[Any], Any]:
    """What makes a value of a type of parsed JSON."""
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        cls = typing.cast("type[Document]", hint)
        fields = [(name, key, hints[name]) for name, key in _keys(cls).items()]
        decoders: list[tuple[str, str, Callable[[Any], Any]]] = []

        def document(value: Any) -> Any:
            if not isinstance(value, dict):
                return value
            if not decoders:
                # Here, since a type may be part of itself.
                decoders.extend((name, key, _decoder(of)) for name, key, of in fields)
            parts = {name: make(value.get(key)) for name, key, make in decoders}
            return cls(**parts)

        return document
    if hint is float:
        return _as_float
    options = [one for one in _union(hint) if one is not type(None)]
    if len(options) == 1 and options[0] is not hint:
        make = _decoder(options[0])
        return lambda value: None if value is None else make(value)
    if typing.get_origin(hint) is list:
        (item,) = typing.get_args(hint)
        if _is_plain(item):
            return _same
        one = _decoder(item)
        return lambda value: list(map(one, value)) if isinstance(value, list) else value
    if len(options) > 1 and all(typing.get_origin(one) is list for one in options):
        # Amounts by percent, or by group and percent.
        return _as_floats if "float" in str(hint) else _same
    return _same


def _as_float(value: Any) -> Any:
    """JSON writes 2.0 as 2."""
    return float(value) if type(value) is int else value


def _as_floats(value: Any) -> Any:
    return list(map(_as_floats, value)) if isinstance(value, list) else _as_float(value)


def _same(value: Any) -> Any:
    return value


def _union(hint: Any) -> Iterable[Any]:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return typing.get_args(hint)
    return (hint,)


def _is_plain(hint: Any) -> bool:
    """Whether values of a type stay as JSON has them."""
    return all(one in (int, str, bool, type(None)) for one in _union(hint)) or (
        typing.get_origin(hint) is typing.Literal
    )


def _document_of(hint: Any) -> type[Document] | None:
    for one in _union(hint):
        if dataclasses.is_dataclass(one):
            return typing.cast("type[Document]", one)
    return None


@_cached
def _row_lists(cls: type[Document]) -> dict[str, type[Document]]:
    """The fields that are lists of documents, and the type of these."""
    found = {}
    for name, hint in typing.get_type_hints(cls).items():
        for one in _union(hint):
            item = _document_of(typing.get_args(one)[0]) if typing.get_origin(one) is list else None
            if item is not None:
                found[name] = item
    return found


@_cached
def _columns(cls: type[Document]) -> dict[str, Callable[[Any], Any]]:
    """The columns of rows of a type; those of a part are named after both: `depth_2pct_usd_support`."""
    columns: dict[str, Callable[[Any], Any]] = {}
    hints = typing.get_type_hints(cls)
    for name in _keys(cls):
        part = _document_of(hints[name])
        if part is None:
            columns[name] = _field(name)
            continue
        for inner, value_of in _columns(part).items():
            columns[f"{name}_{inner}"] = _field(name, value_of)
    return columns


def _field(name: str, value_of: Callable[[Any], Any] = _same) -> Callable[[Any], Any]:
    return lambda row: value_of(getattr(row, name, None))
