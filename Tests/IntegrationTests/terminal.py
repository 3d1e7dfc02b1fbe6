"""Programs at a terminal of their own."""

import os
import pty


def on_terminal(*command, env=None):
    """Runs a command on a terminal of its own; returns what it showed."""
    environment = {key: value for key, value in os.environ.items()
                   if key not in ("NO_COLOR", "FORCE_COLOR", "GATEWAYD_SOCKET")}
    environment |= {"TERM": "xterm", **(env or {})}
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(command[0], [str(one) for one in command], environment)
    shown = b""
    try:
        while data := os.read(terminal, 65536):
            shown += data
    except OSError:
        pass
    os.close(terminal)
    os.waitpid(pid, 0)
    return shown.decode()
