"""A server on the library mcp, 2.x or 1.x: mcp_server.py stdio | mcp_server.py PORT."""

import sys

try:
    from mcp.server.mcpserver import MCPServer as Server
    later = True
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server
    later = False

transport = sys.argv[1]
at = {} if transport == "stdio" else {"host": "127.0.0.1", "port": int(transport)}
server = Server("evenings") if later else Server("evenings", **at)


@server.tool()
def free(week: int) -> dict[str, int | list[str]]:
    """The free evenings of a week."""
    if week > 53:
        raise ValueError("there is no such week")
    return {"week": week, "evenings": ["Tue", "Thu"]}


if transport == "stdio":
    server.run("stdio")
elif later:
    server.run("streamable-http", **at)
else:
    server.run("streamable-http")
