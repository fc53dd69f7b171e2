"""The official Python SDK behind a pipe: one JSON line in, one out.

client.py URL TOKEN auto|legacy|2026-07-28; lines {"list": true} and
{"call": NAME, "arguments": {…}}; the first line out says what was negotiated.
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client


def say(answer):
    print(json.dumps(answer), flush=True)


async def answer(client, line):
    if "list" in line:
        tools, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor)
            tools += [t.model_dump(by_alias=True, exclude_none=True) for t in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                return {"tools": tools}
    try:
        result = await client.call_tool(line["call"], line["arguments"])
    except MCPError as e:
        return {"error": {"code": e.error.code, "message": e.error.message}}
    return {"result": result.model_dump(by_alias=True, exclude_none=True)}


async def main(url, token, mode):
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode) as client:
            say({"version": client.protocol_version})
            for text in iter(sys.stdin.readline, ""):
                say(await answer(client, json.loads(text)))


asyncio.run(main(*sys.argv[1:]))
