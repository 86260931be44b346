"""`offscript mcp`: the checker as tools of an assistant, over standard input and output."""

from typing import TYPE_CHECKING, Any

import typer

from offscript.cli._checkers import Engines, Indexes, Ratings, Risk, StanceName

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from offscript.factcheck.tools import Tools

ABOUT = "Checks claims, finds documents and looks up quotations in the documents that this server was started with."


def mcp(
    index: Indexes = None,
    search: Engines = None,
    stance: StanceName = None,
    ratings: Ratings = None,
    risk: Risk = None,
) -> None:
    """Serve check, search and cite to assistants by the Model Context Protocol (stdio), until the client leaves.

    Example: offscript mcp --index index
    """
    from offscript.errors import missing_package

    try:
        import mcp.server  # noqa: F401 - named now, before a model is loaded
    except ModuleNotFoundError as error:
        raise missing_package("offscript mcp", str(error.name), extra="mcp") from error
    from offscript.factcheck.checking import build_checker
    from offscript.factcheck.tools import Tools

    checker = build_checker(index or [], stance, ratings, engines=search or [], risk=risk, announce=_announce)
    server_of(Tools(checker)).run("stdio")


def server_of(tools: "Tools") -> "MCPServer[Any]":
    """The server with its three tools."""
    from mcp.server import MCPServer

    from offscript import __version__

    server: MCPServer[Any] = MCPServer("offscript", version=__version__, instructions=ABOUT, log_level="WARNING")

    @server.tool()
    def check(claim: str) -> dict[str, Any]:
        """Check one claim (a sentence that can be true or false): verdict, calibrated confidence and evidence."""
        return tools.check(claim)

    @server.tool()
    def search(query: str, k: int = 10) -> list[dict[str, Any]]:
        """Find documents for some words, best first: id, title, address, date and the beginning of the text."""
        return tools.search(query, k)

    @server.tool()
    def cite(quotation: str) -> dict[str, Any]:
        """Look up a quotation: verbatim, altered (with the source's own words) or not found, and where it stands."""
        return tools.cite(quotation)

    return server


def _announce(message: str) -> None:
    typer.echo(message, err=True)
