"""Start a script of this folder many times from one that has loaded it: nursery SCRIPT.

Most of a short child's time goes into imports. So one process imports the script and
forks a child for each line of its input, which runs the script's groups as a process of
its own would, to the end of the interpreter; the line says with which arguments, how
long, and which files take what the child prints. The answer to a line is how it ended.
"""

import importlib
import json
import os
import signal
import sys
import time

from tests.isolated.harness import run_group


def redirect(path, stream):
    """Let a standard stream of the process lead to a file."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, stream)
    os.close(file)


def awaited(child, seconds):
    """Exit code of a child, or None after it was stopped for the time it took."""
    last = time.monotonic() + seconds
    while time.monotonic() < last:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    # Its session is its own, so this reaches what it forked and no other.
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def main():
    """Serve; in each child return, for the child to go on with its group."""
    script = importlib.import_module(f"tests.isolated.{sys.argv[1]}")
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            os.setsid()
            redirect(os.devnull, 0)
            redirect(order["out"], 1)
            redirect(order["err"], 2)
            sys.argv[1:] = order["arguments"]
            return script.GROUPS
        code = awaited(child, order["seconds"])
        print(json.dumps(code), flush=True)
    return None


if __name__ == "__main__":
    groups = main()
    if groups is not None:
        run_group(groups)
