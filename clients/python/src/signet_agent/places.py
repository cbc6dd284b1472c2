"""Where the agent's socket is: as the command `signet` finds its home."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from .errors import SignetError


class NoHome(SignetError):
    """Nothing says where the agent's home is."""


def find_socket(
    socket: str | os.PathLike[str] | None = None,
    home: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Path:
    """`socket`, else `home`/agent.sock, else $SIGNET_AGENT_SOCKET, else agent.sock in the home of the environment:
    $SIGNET_HOME, else $XDG_DATA_HOME/signet, else ~/.local/share/signet."""
    if socket is not None:
        return Path(socket)
    if home is not None:
        return Path(home) / SOCKET
    if named := environment.get("SIGNET_AGENT_SOCKET"):
        return Path(named)
    return _home(environment) / SOCKET


def _home(environment: Mapping[str, str]) -> Path:
    if home := environment.get("SIGNET_HOME"):
        return Path(home)
    # The XDG specification has relative paths ignored.
    data = environment.get("XDG_DATA_HOME", "")
    if os.path.isabs(data):
        return Path(data) / "signet"
    if user := environment.get("HOME"):
        return Path(user) / ".local/share/signet"
    raise NoHome(
        "no home directory: neither SIGNET_HOME, XDG_DATA_HOME nor HOME names one",
        next="set SIGNET_HOME to the agent's home, or SIGNET_AGENT_SOCKET to its socket",
    )


SOCKET = "agent.sock"
