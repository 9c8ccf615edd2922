"""Play one scenario with the MCP Python SDK.

It reads the scenario, a JSON object, from standard input and prints one JSON
object a line: one for each step, in order. README.md in this folder says what
both look like; typescript.mjs plays the same scenarios.
"""

import json
import sys
import time
import warnings

import anyio
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import ErrorData, ListRootsResult, Root

# Roots are deprecated in the newest protocol, and the SDK says so at each use.
warnings.simplefilter("ignore")


class Roots:
    """What the client answers when it is asked for its roots."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = 0
        self.held = 0
        self.go = anyio.Event()

    async def __call__(self, context):
        self.asked += 1
        if self.answer.get("silent"):
            self.held += 1
            await self.go.wait()
        if error := self.answer.get("error"):
            return ErrorData(code=error["code"], message=error["message"])
        # model_construct does not validate, so that a bad entry can be sent.
        roots = [Root.model_construct(**entry) for entry in self.answer["roots"]]
        return ListRootsResult.model_construct(roots=roots)

    def release(self, answer):
        released, self.held = self.held, 0
        self.answer = answer
        self.go.set()
        self.go = anyio.Event()
        return released


async def run(client, modern, roots, step):
    match step["do"]:
        case "tools":
            result = await client.list_tools()
            return {"tools": [tool.name for tool in result.tools]}
        case "call":
            result = await client.call_tool(step["tool"], step["args"])
            return {
                "isError": bool(result.is_error),
                "text": "\n".join(block.text for block in result.content),
                "structured": result.structured_content,
                "meta": result.meta,
            }
        case "change":
            # Another answer from here on. The stateless protocol has no notice of it.
            roots.answer = step["answer"]
            if not modern:
                await client.send_roots_list_changed()
            return {}
        case "release":
            released = roots.release(step["answer"])
            # The SDK writes its answer some ticks after the callback returned.
            await anyio.sleep(0.05)
            return {"released": released}


async def main():
    scenario = json.load(sys.stdin)
    roots = Roots(scenario["roots"]) if scenario["roots"] else None
    server = StdioServerParameters(command=scenario["command"], args=scenario["args"])
    modern = scenario["era"] == "modern"
    mode = "2026-07-28" if modern else "legacy"
    async with Client(server, mode=mode, list_roots_callback=roots) as client:
        for step in scenario["steps"]:
            start = time.monotonic()
            try:
                line = await run(client, modern, roots, step)
            except (MCPError, RuntimeError) as err:
                line = {"failure": {"code": getattr(err, "code", 0), "message": str(err)}}
            line["ms"] = round((time.monotonic() - start) * 1000)
            line["asked"] = roots.asked if roots else 0
            print(json.dumps(line), flush=True)


anyio.run(main)
