"""Trains as rank 0, and starts the other ranks as copies of itself that have LOCAL_RANK but no RANK."""

import os
import subprocess
import sys
import tempfile

from ddp_steps import parse, train

if __name__ == "__main__":
    arguments = parse()
    others: list[subprocess.Popen[bytes]] = []
    if "LOCAL_RANK" not in os.environ:
        os.environ |= {"NODE_RANK": "0", "WORLD_SIZE": str(arguments.ranks), "STORE": f"{tempfile.mkdtemp()}/store"}
        for rank in range(1, arguments.ranks):
            others.append(subprocess.Popen([sys.executable, *sys.argv], env=os.environ | {"LOCAL_RANK": str(rank)}))
        os.environ["LOCAL_RANK"] = "0"
    train(int(os.environ["LOCAL_RANK"]), arguments.ranks, f"file://{os.environ['STORE']}", arguments)
    sys.exit(max((other.wait() for other in others), default=0))
