"""`offscript mcp` as an assistant meets it: the protocol's own client lists the tools and calls them."""

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from offscript.factcheck.documents import Document
from offscript.factcheck.index import build_index

mcp = pytest.importorskip("mcp")
SERVER = "import sys; sys.argv = ['offscript', *sys.argv[1:]]; from offscript.cli import main; main()"


async def conversation(index: Path) -> tuple[list[str], list[Any]]:
    from mcp.client.stdio import stdio_client

    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    arguments = ["-c", SERVER, "mcp", "--index", str(index), "--stance", "lexical"]
    server = mcp.StdioServerParameters(command=sys.executable, args=arguments, env=environment)
    async with stdio_client(server) as (reading, writing), mcp.ClientSession(reading, writing) as session:
        await session.initialize()
        listed = await session.list_tools()
        calls = [
            await session.call_tool("check", {"claim": "The capital of Australia is Sydney."}),
            await session.call_tool("search", {"query": "capital Australia", "k": 1}),
            await session.call_tool("cite", {"quotation": "the capital of australia is Canberra"}),
            await session.call_tool("search", {"query": " "}),
        ]
        return [tool.name for tool in listed.tools], calls


def test_the_official_client_lists_the_tools_and_gets_a_verdict(tmp_path: Path) -> None:
    build_index([Document("a", "Australia", "The capital of Australia is Canberra.")], tmp_path / "index")
    names, (checked, found, cited, refused) = anyio.run(conversation, tmp_path / "index")
    assert sorted(names) == ["check", "cite", "search"]
    assert checked.structured_content["verdict"] == "REFUTED"
    assert found.structured_content["result"][0]["id"] == "a"
    assert (cited.structured_content["status"], cited.structured_content["document"]) == ("verbatim", "a")
    assert refused.is_error
