"""What users of the package `mcp` do. Usage: mcp_client.py SCENARIO URL KEY; prints the result as JSON."""

import asyncio
import contextlib
import json
import sys

import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError


@contextlib.asynccontextmanager
async def _connected(url, key, mode="auto", **options):
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode, **options) as client:
            yield client


async def handshake(*place):
    found = {}
    for mode in ("auto", "legacy"):
        async with _connected(*place, mode=mode) as client:
            listed = await client.list_tools()
            found[mode] = [client.protocol_version, sorted(tool.name for tool in listed.tools)]
    return found


async def answer(*place):
    async with _connected(*place) as client:
        first = await client.call_tool("app", {"message": "plain"})
        thread_id = first.structured_content["thread_id"]
        second = await client.call_tool("app", {"message": "plain", "thread_id": thread_id})
        return [first.content[0].text, second.structured_content["thread_id"] == thread_id]


async def progress(*place):
    reports = []

    async def report(progress, total, message):
        reports.append(progress)

    found = []
    for mode in ("auto", "legacy"):
        async with _connected(*place, mode=mode) as client:
            result = await client.call_tool("app", {"message": "plain"}, progress_callback=report)
            found.append(result.content[0].text)
    return [found, reports]


async def resources(*place):
    async with _connected(*place) as client:
        called = await client.call_tool("app", {"message": "plain"})
        uri = "agent-graph://threads/" + called.structured_content["thread_id"]
        listed = await client.list_resources()
        read = await client.read_resource(uri)
        conversation = json.loads(read.contents[0].text)
        return [uri in [str(r.uri) for r in listed.resources], len(conversation["messages"])]


async def question(*place):
    async def answer(context, params):
        return types.ElicitResult(action="accept", content={"name": "Bob"})

    found = []
    for mode in ("auto", "legacy"):
        async with _connected(*place, mode=mode, elicitation_callback=answer) as client:
            result = await client.call_tool("app", {"message": "register"})
            found.append(result.content[0].text)
    return found


async def errors(*place):
    async with _connected(*place) as client:
        found = {"arguments": (await client.call_tool("app", {})).is_error}
        for name, attempt in (
            ("tool", client.call_tool("none", {})),
            ("resource", client.read_resource("agent-graph://threads/none")),
        ):
            try:
                await attempt
            except MCPError as error:
                found[name] = error.error.code
        return found


async def foreign_thread(*place):
    async with _connected(*place) as client:
        result = await client.call_tool("app", {"message": "plain", "thread_id": "alice"})
        return [result.is_error, len((await client.list_resources()).resources)]


async def main():
    names, *place = sys.argv[1:]
    return {name: await globals()[name](*place) for name in names.split(",")}


print(json.dumps(asyncio.run(main())))
