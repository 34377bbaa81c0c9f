"""A headless Chromium, driven through its DevTools pipe: no package, no port."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SECONDS = 60
# Numbers of keys, as the browser wants them.
_CODES = {
    "Tab": 9,
    "Enter": 13,
    "Escape": 27,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
}


def find_chromium():
    """Path of the browser, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Chromium:
    """One browser with one tab; events are kept as they come."""

    def __init__(self, program):
        self.events = []
        self._number = 0
        self._rest = b""
        self._folder = tempfile.TemporaryDirectory(prefix="ekss-chromium-")
        to_browser, self._write = _high_pipe()
        self._read, from_browser = _high_pipe()
        # The browser reads orders from descriptor 3 and writes answers to 4.
        order = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        options = (
            "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage "
            "--remote-debugging-pipe --no-first-run --disable-extensions "
            "--disable-background-networking --hide-scrollbars --mute-audio"
        ).split()
        options.append(f"--user-data-dir={self._folder.name}")
        self._process = subprocess.Popen(
            ["bash", "-c", order, "bash", program, *options],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (to_browser, from_browser):
            os.close(end)
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def call(self, method, **parameters):
        """Give an order and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, *, width, dark=False, scale=1):
        """Show a file at a width, and wait until it is loaded."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=scale,
            mobile=width < 600,
        )
        self.events.clear()
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._receive())

    def scripts(self, on):
        """Switch scripts of pages that are opened from now on."""
        self.call("Emulation.setScriptExecutionDisabled", value=not on)

    def place(self, query):
        """Middle of an element in the window, after scrolling to it."""
        return self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(query)});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const b = e.getBoundingClientRect();"
            "return [b.left + b.width / 2, b.top + b.height / 2]; })()"
        )

    def move(self, x, y):
        """Move the mouse."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, query):
        """Click in the middle of an element."""
        x, y = self.place(query)
        self.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="left",
                clickCount=1,
            )

    def press(self, key):
        """Press and release a key by its name, such as "Tab" or "ArrowRight"."""
        code = _CODES.get(key, 0)
        text = {"Enter": "\r"}.get(key, "")
        about = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        kind = "keyDown" if text else "rawKeyDown"
        self.call("Input.dispatchKeyEvent", type=kind, text=text, **about)
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def type(self, words):
        """Type words into what has the focus."""
        self.call("Input.insertText", text=words)

    def keep_downloads(self, folder):
        """Save what is downloaded in a folder, without asking."""
        how = {"behavior": "allow", "downloadPath": str(folder)}
        self.call("Page.setDownloadBehavior", **how)

    def show_as_print(self):
        """Lay the open page out as on paper."""
        self.call("Emulation.setEmulatedMedia", media="print")

    def evaluate(self, expression):
        """Value of a JavaScript expression, after its promise is kept."""
        answer = self.call(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return answer["result"].get("value")

    def wait(self, expression):
        """Wait until a JavaScript expression is true."""
        for _ in range(200):
            if self.evaluate(expression):
                return
            time.sleep(0.02)
        raise RuntimeError(f"not true after 4 s: {expression}")

    def screenshot(self, path, height=None):
        """Save the whole page, or its top, as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "scale": 1, "width": size["width"]}
        clip["height"] = min(size["height"], height or size["height"])
        shot = self.call(
            "Page.captureScreenshot", clip=clip, captureBeyondViewport=True
        )
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def pdf(self):
        """Return the page as it would be printed."""
        printed = self.call("Page.printToPDF", printBackground=False)
        return base64.b64decode(printed["data"])

    def close(self):
        """End the browser and remove its folder."""
        with suppress(OSError, RuntimeError):
            self._session = None
            self.call("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for end in (self._read, self._write):
            os.close(end)
        _remove(self._folder)

    def _receive(self):
        """Next message; messages end in a zero byte."""
        while b"\0" not in self._rest:
            if not select.select([self._read], [], [], _SECONDS)[0]:
                raise RuntimeError(f"Chromium was silent for {_SECONDS} s")
            piece = os.read(self._read, 2**20)
            if not piece:
                raise RuntimeError("Chromium ended")
            self._rest += piece
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)


def _high_pipe():
    """Pipe with descriptors above those that the browser's will take."""
    ends = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in ends)
    for end in ends:
        os.close(end)
    return high


def _remove(folder):
    """Remove a folder in which a process that ends may still write."""
    for _ in range(20):
        try:
            return folder.cleanup()
        except OSError:
            time.sleep(0.1)
    return None
