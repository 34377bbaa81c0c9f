"""Small data sets in the official formats, and a server that stands for a mirror."""

import dataclasses
import gzip
import io
import struct
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import scipy.io
from PIL import Image

from ekss.datasets import _catalog, _sources
from ekss.datasets._catalog import Archive
from ekss.datasets._store import array_digest, fingerprint, set_digest


def idx(array):
    sizes = struct.pack(f">{array.ndim}i", *array.shape)
    return gzip.compress(bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes())


def picture(pixels, kind="PNG"):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


def zipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def shrink(pixels):
    """Means of 4 x 4 blocks, the slow way."""
    height, width = pixels.shape[0] // 4, pixels.shape[1] // 4
    return np.array(
        [
            pixels[4 * i : 4 * i + 4, 4 * j : 4 * j + 4].mean()
            for i in range(height)
            for j in range(width)
        ]
    )


def digests_of(arrays):
    return {name: array_digest(name, array) for name, array in arrays.items()}


def describe(base, arrays, archives, **changes):
    """Entry of the catalogue with the sizes and digests of these arrays."""
    layout = tuple((n, a.dtype.str, a.shape) for n, a in arrays.items())
    facts = {
        "layout": layout,
        "counts": tuple(np.bincount(arrays["y"]).tolist()) if "y" in arrays else (),
        "digests": (set_digest(digests_of(arrays)),),
        "archives": tuple(
            dataclasses.replace(known, filename=name, urls=(), digest=None)
            for known, name in zip(base.archives, archives, strict=True)
        ),
    }
    return dataclasses.replace(base, **(facts | changes))


@dataclasses.dataclass(frozen=True)
class Small:
    """A small data set: entry of the catalogue, arrays, official files."""

    dataset: _catalog.DataSet
    arrays: dict
    files: dict

    def write(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        return folder

    def served_by(self, *servers, digests=None):
        """The same data set with archives at these servers."""
        archives = tuple(
            Archive(
                archive.filename,
                tuple(f"{server}/{archive.filename}" for server in servers),
                (digests or {}).get(archive.filename),
                archive.members,
            )
            for archive in self.dataset.archives
        )
        return dataclasses.replace(self.dataset, archives=archives)


@pytest.fixture
def small_mnist():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (6, 5, 4), dtype=np.uint8)
    labels = np.array([0, 2, 1, 1, 0, 2], np.uint8)
    arrays = {"X": images.reshape(6, 20), "y": labels.astype(np.int64)}
    files = {
        "t10k-images-idx3-ubyte.gz": idx(images),
        "t10k-labels-idx1-ubyte.gz": idx(labels),
    }
    base = dataclasses.replace(_catalog.BY_NAME["mnist_test"], image_shape=(5, 4))
    return Small(describe(base, arrays, files), arrays, files)


@pytest.fixture
def small_usps():
    rng = np.random.default_rng(1)
    values = rng.integers(-1000, 1001, (5, 256)) / 1000
    labels = np.array([1, 0, 1, 0, 1])
    lines = [
        f"{label:.4f} " + " ".join(f"{v:.4f}" for v in row) + " \n"
        for label, row in zip(labels, values, strict=True)
    ]
    files = {
        "zip.train.gz": gzip.compress("".join(lines[:3]).encode()),
        "zip.test.gz": gzip.compress("".join(lines[3:]).encode()),
    }
    arrays = {"X": ((values + 1) / 2).astype(np.float32), "y": labels}
    return Small(describe(_catalog.BY_NAME["usps"], arrays, files), arrays, files)


@pytest.fixture
def small_coil20():
    rng = np.random.default_rng(2)
    views = {}
    for number in (1, 2, 10):
        for view in (0, 2, 10, 11):
            pixels = np.zeros((128, 128), np.uint8)
            pixels[10 * number :, 5 * view :] = rng.integers(100, 200)
            views[number, view] = pixels
    names = [f"coil-20-proc/obj{n}__{v}.png" for n, v in views]
    content = dict(zip(names, map(picture, views.values()), strict=True))
    # the archive's order is that of names, not of numbers
    files = {"coil-20-proc.zip": zipped(dict(sorted(content.items())))}
    arrays = {
        "X": np.array([shrink(pixels) / 255 for pixels in views.values()]),
        "y": np.repeat(np.arange(3), 4),
    }
    mean = np.rint(fingerprint(arrays["X"], arrays["y"], (32, 32))).astype(np.uint8)
    side = {"y": array_digest("y", arrays["y"])}
    facts = {"fingerprint": mean.tobytes(), "side_digest": set_digest(side)}
    dataset = describe(_catalog.BY_NAME["coil20"], arrays, files, **facts)
    return Small(dataset, arrays, files)


@pytest.fixture
def small_hopkins():
    rng = np.random.default_rng(3)
    tracks = {
        "cars1": (rng.normal(size=(3, 5, 4)), np.array([1, 1, 2, 2, 2])),
        "cars10": (rng.normal(size=(3, 4, 2)), np.array([3, 1, 2, 1])),
        "dancing": (rng.normal(size=(3, 5, 3)), np.array([1, 2, 3, 4, 5])),
    }
    members = {"Hopkins155/README.txt": b"hello"}
    for name, (x, s) in tracks.items():
        file = io.BytesIO()
        scipy.io.savemat(file, {"x": x, "s": s[:, None].astype(np.uint8), "y": x})
        members[f"Hopkins155/{name}/{name}_truth.mat"] = file.getvalue()
    # in order of the names of the files, where 0 comes before _
    arrays = {"names": np.array(["cars10", "cars1", "dancing"])}
    for name, (x, s) in tracks.items():
        arrays |= {f"{name}__x": x, f"{name}__s": s}
    files = {"Hopkins155.zip": zipped(members)}
    facts = {"layout": (), "counts": (0, 0, 1, 1)}
    dataset = describe(_catalog.BY_NAME["hopkins155"], arrays, files, **facts)
    return Small(dataset, arrays, files)


class Mirror:
    """A local server with files, some of them cut or missing."""

    def __init__(self):
        self.files, self.asked = {}, []
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.split("/")[-1]
                mirror.asked.append(self.path)
                if "/gone/" in self.path or name not in mirror.files:
                    self.send_error(404)
                    return
                body = mirror.files[name]
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                half = len(body) // 2 if "/cut/" in self.path else len(body)
                self.wfile.write(body[:half])

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def mirror(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    # It speaks plain http, because it has no certificate.
    monkeypatch.setattr(_sources, "is_trusted", lambda url, archive: True)
    running = Mirror()
    yield running
    running.close()
