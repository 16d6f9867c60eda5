"""An assistant on the Python package `mcp`: makes the calls of its standard input, and prints what it gets.

stdin: {"stdio": {"command", "args", "env"}, "http": URL, "mode": "auto" or "legacy", "calls": [[tool, arguments], ...]}
stdout: {"tools": [...], "stdio": [...], "http": [[...], [...]]}; each result is {"text", "data", "error"}.
"""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters


async def results(client: Client, calls: list) -> list[dict]:
    found = []
    for tool, arguments in calls:
        try:
            result = await client.call_tool(tool, arguments)
        except MCPError as error:
            found.append({"text": str(error), "data": None, "error": "protocol"})
            continue
        text = "".join(part.text for part in result.content)
        error = "tool" if result.is_error else None
        found.append({"text": text, "data": result.structured_content, "error": error})
    return found


async def over_http(url: str, mode: str, calls: list) -> list[dict]:
    async with Client(url, mode=mode) as client:
        return await results(client, calls)


async def main() -> None:
    asked = json.load(sys.stdin)
    mode, calls = asked["mode"], asked["calls"]
    async with Client(StdioServerParameters(**asked["stdio"]), mode=mode) as client:
        listed = await client.list_tools()
        stdio = await results(client, calls)
    pair = [over_http(asked["http"], mode, calls) for _ in range(2)]
    print(
        json.dumps(
            {
                "tools": [
                    {
                        "name": tool.name,
                        "input": tool.input_schema,
                        "output": tool.output_schema,
                        "read_only": tool.annotations.read_only_hint,
                    }
                    for tool in listed.tools
                ],
                "stdio": stdio,
                "http": await asyncio.gather(*pair),
            }
        )
    )


asyncio.run(main())
