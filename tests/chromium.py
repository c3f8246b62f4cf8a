"""The distribution's Chromium, driven over its pipe (Chrome DevTools Protocol): no network, no driver, a profile of its own."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

FOUND = shutil.which("chromium") or shutil.which("chromium-browser")
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
_PATIENCE = 60


class Chromium:
    """One page; `requests` and `complaints` are what it asked for and what its console said."""

    def __init__(self, profile: Path) -> None:
        assert FOUND is not None
        theirs, self._out = os.pipe()
        self._in, answers = os.pipe()
        command = f'exec "$@" 3<&{theirs} 4>&{answers} >"$0" 2>&1'
        self._process = subprocess.Popen(
            ["bash", "-c", command, str(profile / "log"), FOUND, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(theirs, answers),
        )
        os.close(theirs)
        os.close(answers)
        self._number, self._left, self._session = 0, b"", None
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.loaded = False
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._out)
        os.close(self._in)
        self._process.terminate()
        self._process.wait(20)

    def call(self, method: str, **parameters: Any) -> Any:
        """The answer to one command."""
        self._number += 1
        asked: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            asked["sessionId"] = self._session
        os.write(self._out, json.dumps(asked).encode() + b"\0")
        while True:
            said = self._next()
            if said.get("id") == self._number:
                assert "error" not in said, f"{method}: {said['error']}"
                return said["result"]

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + _PATIENCE
        while b"\0" not in self._left:
            assert select.select([self._in], [], [], max(0.0, until - time.monotonic()))[0], "Chromium does not answer"
            read = os.read(self._in, 1 << 20)
            assert read, "Chromium has ended"
            self._left += read
        line, _, self._left = self._left.partition(b"\0")
        said: dict[str, Any] = json.loads(line)
        method, about = said.get("method"), said.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif method == "Log.entryAdded":
            self.complaints.append(about["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(str(about["args"]))
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(about["exceptionDetails"]))
        elif method == "Page.loadEventFired":
            self.loaded = True
        return said

    def open(self, page: Path, *, width: int, scheme: str = "light", medium: str = "screen", script: bool = True) -> None:
        """Show the file `page` in a window of `width` pixels."""
        self.requests, self.complaints, self.loaded = [], [], False
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media=medium, features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.call("Page.navigate", url=page.as_uri())
        while not self.loaded:
            self._next()

    def value(self, expression: str) -> Any:
        """What JavaScript makes of `expression` in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self, file: Path) -> None:
        """The whole page, however long."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))
