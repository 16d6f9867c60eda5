"""Writes src/fathom_client/generated from the API's description: types, and a method per operation.

    npm run build && python generate.py [FOLDER]

The types are those of datamodel-code-generator; the methods are written here.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOLDER = HERE / "src/fathom_client/generated"
DESCRIBE = """
import { describeApi } from './dist/server/api/openapi.js';
import { ENDPOINTS } from './dist/server/endpoints.js';
import { describeLive } from './dist/server/live/asyncapi.js';
const api = describeApi(Object.values(ENDPOINTS));
process.stdout.write(JSON.stringify([api, describeLive()]));
"""
LIVE = ["Subscribed", "Snapshots", "Revised", "Deleted", "Reset", "Lagged", "Heartbeat"]
"""The messages that `follow` yields."""

# What the API calls otherwise, or a caller would not look for. Paged ones have a method around them.
METHODS = {
    "postScore": "scores",
    "postWhaleActivity": "whale_activities",
    "getReplay": "replay_page",
    "getDepthSeries": "depth_series_page",
}
ARGUMENTS = {
    "address": "token",
    "token_address": "token",
    "addresses": "tokens",
    "token_addresses": "tokens",
    "from": "start",
    "to": "end",
}
# Given without their names.
POSITIONAL = ["token", "tokens", "side", "start", "end", "query"]
# `follow` has no end, and no steps.
NOT_LIVE = ["end", "step"]


def described() -> tuple[dict[str, Any], dict[str, Any]]:
    """The OpenAPI and the AsyncAPI description."""
    command = ["node", "--input-type=module", "-e", DESCRIBE]
    text = subprocess.run(command, cwd=HERE.parent, check=True, capture_output=True).stdout
    api, live = json.loads(text)
    return api, live


def types_text(api: dict[str, Any], live: dict[str, Any]) -> str:
    live_schemas = live["components"]["schemas"]
    schemas = {
        **{name: live_schemas[name] for name in (f"Live{one}" for one in LIVE)},
        **api["components"]["schemas"],
    }
    # The client raises errors, and takes the parts of bodies as arguments.
    kept = {
        name: schema
        for name, schema in schemas.items()
        if not name.endswith("Error") and not name.endswith("Request")
    }
    components = {"schemas": kept}
    document = {"openapi": "3.1.0", "info": {"title": "", "version": ""}, "paths": {}}
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "api.json"), Path(folder, "api.py")
        source.write_text(json.dumps({**document, "components": components}))
        command = [sys.executable, "-m", "datamodel_code_generator"]
        command += ["--input", str(source), "--input-file-type", "openapi", "--output", str(out)]
        command += ["--output-model-type", "dataclasses.dataclass"]
        command += ["--dataclass-arguments", '{"frozen":true,"kw_only":true,"slots":true}']
        command += ["--base-class", "fathom_client.documents.Document"]
        bases = {"DepthSeries": "fathom_client.series.SeriesDocument"}
        command += ["--base-class-map", json.dumps(bases)]
        command += ["--target-python-version", "3.10", "--enum-field-as-literal", "all"]
        command += ["--use-standard-collections", "--use-union-operator"]
        command += ["--use-schema-description", "--use-field-description"]
        command += ["--special-field-name-prefix", "last"]
        command += ["--custom-file-header", '"""Types of the API. Written by generate.py."""']
        command += ["--formatters", "ruff-check", "ruff-format"]
        subprocess.run(command, check=True, cwd=folder)
        return formatted(out.read_text())


def formatted(text: str) -> str:
    """A file's text as `ruff format` and the linter's order of imports have it."""
    ruff = [sys.executable, "-m", "ruff"]
    name = ["--stdin-filename", str(FOLDER / "any.py"), "-"]
    for command in ([*ruff, "check", "--fix", "--quiet", *name], [*ruff, "format", *name]):
        done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=HERE)
        if done.stdout == "":
            raise RuntimeError(done.stderr)
        text = done.stdout
    return text


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def type_of(schema: dict[str, Any], name: str = "") -> str:
    """The type of an argument."""
    if "anyOf" in schema:
        return " | ".join(type_of(one) for one in schema["anyOf"])
    if schema.get("format") == "instant":
        return "Time"
    if "enum" in schema:
        return f"Literal[{', '.join(json.dumps(value) for value in schema['enum'])}]"
    if schema["type"] == "array":
        item = type_of(schema["items"])
        # A single text would be no mistake of several tokens, but of one.
        return f"Sequence[{item}]" if name == "tokens" else f"{item} | Sequence[{item}]"
    return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[schema["type"]]


class Argument:
    def __init__(self, key: str, schema: dict[str, Any], required: bool, about: str) -> None:
        self.key = key
        self.name = ARGUMENTS.get(key, snake(key))
        self.required = required
        self.type = type_of(schema, self.name)
        unit = schema.get("x-unit")
        default = schema.get("default")
        notes = [f"unit: {unit}" if unit else "", "" if default is None else f"default: {default}"]
        told = "; ".join(note for note in notes if note)
        self.about = about + (f" ({told})" if told else "")
        if self.name == "token":
            self.about = "address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL."
        if self.name == "tokens":
            self.about = "addresses or symbols."

    @property
    def text(self) -> str:
        return f"{self.name}: {self.type}" + ("" if self.required else " | None = None")


class Operation:
    def __init__(self, path: str, method: str, item: dict[str, Any]) -> None:
        self.path, self.method = path, method.upper()
        self.name = METHODS.get(item["operationId"]) or snake(item["operationId"]).removeprefix(
            "get_"
        )
        reply = item["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
        self.result = reply.rsplit("/", 1)[1]
        self.summary = item["summary"]
        self.description = item.get("description", "")
        arguments = [
            Argument(one["name"], one["schema"], one["required"], one.get("description", ""))
            for one in item.get("parameters", [])
        ]
        self.arguments = sorted(arguments, key=lambda one: not one.required)

    def with_body(self, schema: dict[str, Any]) -> None:
        required = schema.get("required", [])
        for name, part in schema["properties"].items():
            about = part.get("description", "")
            self.arguments.append(Argument(name, part, name in required, about))

    def signature(self, extra: list[str] | None = None, without: list[str] | None = None) -> str:
        arguments = [one for one in self.arguments if one.name not in (without or [])]
        first = [one.text for one in arguments if one.name in POSITIONAL]
        # In this order: a start before an end.
        first.sort(key=lambda text: POSITIONAL.index(text.split(":")[0]))
        rest = [one.text for one in arguments if one.name not in POSITIONAL] + (extra or [])
        return ", ".join(["self", *first, *(["*", *rest] if rest else [])])

    def docstring(self, summary: str, extra: list[str], without: list[str] | None = None) -> str:
        about = [
            f"{one.name}: {one.about}"
            for one in self.arguments
            if one.name not in (without or []) and one.about
        ] + extra
        lines = [f'"""{summary}']
        if about:
            lines += ["", "Args:"]
            for one in about:
                lines += textwrap.wrap(
                    " ".join(one.split()), 88, initial_indent="    ", subsequent_indent="        "
                )
        if len(lines) == 1:
            return f'{lines[0]}"""'
        return "\n".join([*lines, '"""'])

    def parameters(self, without: list[str] | None = None) -> str:
        pairs = [
            f'"{one.key}": {one.name}' for one in self.arguments if one.name not in (without or [])
        ]
        return f"{{{', '.join(pairs)}}}"


def indented(text: str, by: int) -> str:
    return textwrap.indent(text, " " * by)


AHEAD = "ahead: pages fetched at the same time, 1 to 16."
PROGRESS = "progress: whether to show progress; default: in a terminal or notebook."


def methods_text(operations: list[Operation], kind: str) -> str:
    """The class of a client's methods. `kind` is "Async" or ""."""
    begin, wait = ("async def", "await ") if kind else ("def", "")
    lines = [f"class {kind}Operations(ABC):"]
    lines.append(f'    """One method per operation of the API, of the {kind}Client."""')
    lines.append("    @abstractmethod")
    lines.append(
        f"    {begin} _call(self, result: type[D], method: Literal['GET', 'POST'], path: str, "
        "given: Mapping[str, Any]) -> D: ..."
    )
    iterator = "AsyncIterator" if kind else "Iterator"
    live = f"{iterator}[LiveMessage]"
    lines.append("    @abstractmethod")
    lines.append(
        f"    def _replay(self, given: Mapping[str, Any], ahead: int, progress: bool | None) "
        f"-> {kind}Replay: ..."
    )
    lines.append("    @abstractmethod")
    lines.append(f"    {begin} _series(self, given: Mapping[str, Any]) -> DepthSeries: ...")
    lines.append("    @abstractmethod")
    lines.append(
        "    def _follow(self, given: Mapping[str, Any], cursor_file: PathLike | None, "
        f"heartbeats: bool) -> {live}: ..."
    )
    for one in operations:
        if one.name == "replay_page":
            extra = ["ahead: int = 4", "progress: bool | None = None"]
            lines.append(f"    def replay({one.signature(extra)}) -> {kind}Replay:")
            summary = "Depth history of a window: its pages, side by side, or a table of its cells."
            lines.append(indented(one.docstring(summary, [AHEAD, PROGRESS]), 8))
            lines.append(f"        return self._replay({one.parameters()}, ahead, progress)")
            extra = [
                "cursor: str | None = None",
                "cursor_file: PathLike | None = None",
                "heartbeats: bool = False",
            ]
            lines.append(f"    def follow({one.signature(extra, NOT_LIVE)}) -> {live}:")
            summary = "Snapshots, revisions and deletions as they happen; reconnects and continues."
            told = [
                "cursor: continues after the message with this cursor; not together with start.",
                "cursor_file: keeps the cursor of the last message that you handled, and continues "
                "there; start counts only while the file does not exist.",
                "heartbeats: whether to yield heartbeats too.",
            ]
            lines.append(indented(one.docstring(summary, told, NOT_LIVE), 8))
            pairs = one.parameters(NOT_LIVE)[:-1]
            lines.append(
                f'        return self._follow({pairs}, "cursor": cursor}}, cursor_file, heartbeats)'
            )
        if one.name == "depth_series_page":
            lines.append(f"    {begin} depth_series({one.signature()}) -> DepthSeries:")
            summary = "Depth near the price over time: the whole window, from as many replies as it takes."
            lines.append(indented(one.docstring(summary, []), 8))
            lines.append(f"        return {wait}self._series({one.parameters()})")
        lines.append(f"    {begin} {one.name}({one.signature()}) -> {one.result}:")
        lines.append(indented(one.docstring(f"{one.summary}.", []), 8))
        lines.append(
            f'        return {wait}self._call({one.result}, "{one.method}", "{one.path}", '
            f"{one.parameters()})"
        )
    return "\n".join(lines)


def operations_of(api: dict[str, Any]) -> list[Operation]:
    operations = []
    for path, item in api["paths"].items():
        for method, one in item.items():
            operation = Operation(path, method, one)
            if "requestBody" in one:
                ref = one["requestBody"]["content"]["application/json"]["schema"]["$ref"]
                operation.with_body(api["components"]["schemas"][ref.rsplit("/", 1)[1]])
            operations.append(operation)
    return operations


def operations_text(api: dict[str, Any]) -> str:
    operations = operations_of(api)
    results = sorted({one.result for one in operations})
    return formatted(
        "\n".join(
            [
                '"""A method per operation of the API. Written by generate.py."""',
                "from __future__ import annotations",
                "from abc import ABC, abstractmethod",
                "from collections.abc import AsyncIterator, Iterator, Mapping, Sequence",
                "from typing import TYPE_CHECKING, Any, Literal",
                f"from .api import {', '.join(results)}",
                "if TYPE_CHECKING:",
                "    from ..documents import D",
                "    from ..follow import LiveMessage, PathLike",
                "    from ..parameters import Time",
                "    from ..replay import AsyncReplay, Replay",
                "ROUTES = {",
                *(f'    "{one.name}": ("{one.method}", "{one.path}"),' for one in operations),
                "}",
                '"""Method and path of each operation, by the name of its method."""',
                methods_text(operations, "Async"),
                methods_text(operations, ""),
            ]
        )
    )


def generated() -> dict[str, str]:
    """The text of each file, by its name."""
    api, live = described()
    types = types_text(api, live)
    names = sorted(re.findall(r"^class (\w+)\(", types, re.MULTILINE))
    exports = [
        '"""Types of the API. Written by generate.py."""',
        f"from .api import {', '.join(names)}",
    ]
    return {
        "__init__.py": formatted("\n".join([*exports, f"__all__ = {names}"])),
        "api.py": types,
        "operations.py": operations_text(api),
    }


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in generated().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
