"""The process that holds a waiting JVM: the write end of its stdin, given to the first who asks, within the time that is left.

Run as a file of its own by `keeper.py`, which becomes this by exec: without PySpark it needs some 10 MB. The JVM ends when it does.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import time
from typing import Any

LOOK_SECONDS = 5.0  # a host may have slept meanwhile: the system's clock says, not a timeout
LAST_SECONDS = 10.0  # for who has taken the record and not yet asked


def hold(directory: str, record: dict[str, Any], stdin: int, status: int, given: dict[str, Any]) -> None:
    """Wait in `directory` for who takes the JVM; `given` is what that one must know, `record` what everybody of this user may."""
    waiting, place = os.path.join(directory, "waiting"), os.path.join(directory, "socket")
    ends = record["ends"]
    with socket.socket(socket.AF_UNIX) as server:
        if os.path.exists(place):
            os.unlink(place)  # of a holder that was killed: there is one at a time
        server.bind(place)
        server.listen(1)
        with open(f"{waiting}.{os.getpid()}", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            json.dump(record, file)
        os.rename(file.name, waiting)
        while True:
            left = ends - time.time()
            ready = select.select([server.fileno(), status], [], [], min(max(left, 0), LOOK_SECONDS))[0]
            if status in ready or (not ready and left <= 0):
                try:
                    os.unlink(waiting)
                except OSError:  # taken in this moment
                    ready = select.select([server.fileno()], [], [], LAST_SECONDS)[0]
            elif not ready:
                continue
            break
        if server.fileno() in ready:
            connection, _ = server.accept()
            socket.send_fds(connection, [json.dumps(given).encode()], [stdin, status])
        os.unlink(place)


if __name__ == "__main__":
    order = json.loads(sys.stdin.read())
    record = {**order["record"], "holder": os.getpid()}
    hold(order["directory"], record, order["stdin"], order["status"], order["given"])
