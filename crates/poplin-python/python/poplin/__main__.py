"""The command `poplin`: python -m poplin run flag."""

import signal
import sys

from . import _poplin

if __name__ == "__main__":
    # poplin handles Ctrl-C itself; until its handler is set, Ctrl-C ends the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_poplin.command(["poplin", *sys.argv[1:]]))
