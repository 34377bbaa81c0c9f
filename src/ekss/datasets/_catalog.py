"""The benchmark data sets: sizes, counts, digests, sources, terms, citations."""

import base64
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from ekss.datasets import _convert
from ekss.datasets._convert import Arrays

Layout = tuple[tuple[str, str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Archive:
    """One official file: its name, where it is, and its digest where known."""

    filename: str
    urls: tuple[str, ...]
    digest: str | None = None
    members: str | None = None


@dataclass(frozen=True)
class DataSet:
    """All that is known of one data set and its canonical file ``NAME.npz``.

    `layout` lists name, dtype and shape of the arrays; it is empty for sets of
    sequences, whose arrays follow from ``names``. `digests` are those of the known
    arrays. Sets with a `side_digest` may differ from them in X, if `fingerprint`
    agrees within `tolerance` grey levels.
    """

    name: str
    title: str
    kind: str
    size: tuple[str, str, str]
    archives: tuple[Archive, ...]
    convert: Callable[[Sequence[Path]], Arrays]
    layout: Layout
    counts: tuple[int, ...]
    digests: tuple[str, ...]
    terms: str
    citation: str
    homepage: str
    image_shape: tuple[int, int] | None = None
    class_names: tuple[str, ...] = ()
    side_digest: str | None = None
    fingerprint: bytes = b""
    tolerance: float = 0.0
    uncounted: tuple[str, ...] = ()

    @property
    def filename(self) -> str:
        """Name of the canonical file."""
        return f"{self.name}.npz"


def named(names: Iterable[str], catalog: Sequence[DataSet]) -> list[DataSet]:
    """Return the data sets that are meant; ``all`` and names of a family expand.

    Examples
    --------
    >>> [dataset.name for dataset in named(["mnist", "usps"], CATALOG)]
    ['mnist_test', 'mnist_train', 'usps']
    """
    chosen: dict[str, DataSet] = {}
    for name in names:
        hits = [d for d in catalog if name in ("all", d.name, d.name.split("_")[0])]
        if not hits:
            known = ", ".join(dataset.name for dataset in catalog)
            raise ValueError(f"no data set is called {name!r}; choose {known} or all")
        chosen |= {dataset.name: dataset for dataset in hits}
    return list(chosen.values())


@cache
def _known_fingerprints() -> dict[str, str]:
    return json.loads(files("ekss.datasets").joinpath("_fingerprints.json").read_text())


def _fingerprint(name: str) -> bytes:
    return base64.b64decode(_known_fingerprints()[name])


def _points(rows: int, columns: int, dtype: str, *others: tuple[str, str]) -> Layout:
    own = (("X", dtype, (rows, columns)), ("y", "<i8", (rows,)))
    return own + tuple((name, kind, (rows,)) for name, kind in others)


def _mirrored(address: str) -> tuple[str, ...]:
    """Give an address and the copy that the Internet Archive may hold of it."""
    return address, f"https://web.archive.org/web/2020id_/{address}"


_DIGITS = tuple(str(digit) for digit in range(10))
_SUBJECTS = tuple(f"yaleB{number:02d}" for number in range(1, 40) if number != 14)

_MNIST_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "http://yann.lecun.com/exdb/mnist/",
)
_USPS_MIRRORS = (
    "https://hastie.su.domains/ElemStatLearn/datasets/",
    "https://web.stanford.edu/~hastie/ElemStatLearn/datasets/",
    "http://statweb.stanford.edu/~tibs/ElemStatLearn/datasets/",
)
_COIL = "https://www.cs.columbia.edu/CAVE/databases/SLAM_coil-20_coil-100/"
_YALE = "http://vision.ucsd.edu/extyaleb/CroppedYaleBZip/CroppedYale.zip"
_HOPKINS = "http://www.vision.jhu.edu/data/fetchdata.php?id=1"


def _mnist_archive(filename: str, md5: str) -> Archive:
    urls = tuple(base + filename for base in _MNIST_MIRRORS)
    return Archive(filename, urls, f"md5:{md5}")


def _usps_archive(filename: str) -> Archive:
    return Archive(filename, tuple(base + filename for base in _USPS_MIRRORS))


_MNIST_TERMS = "CC BY-SA 3.0"
_MNIST_CITATION = (
    'Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, "Gradient-based learning applied to '
    'document recognition", Proceedings of the IEEE 86(11), 1998.'
)
_MNIST_HOMEPAGE = "http://yann.lecun.com/exdb/mnist/"

HOPKINS155 = DataSet(
    name="hopkins155",
    title="Hopkins 155, point tracks of 2 or 3 moving objects",
    kind="tracks",
    size=("155", "varies", "2, 3"),
    archives=(Archive("Hopkins155.zip", _mirrored(_HOPKINS), members=r"_truth\.mat$"),),
    convert=_convert.convert_hopkins,
    layout=(),
    counts=(0, 0, 120, 35),
    digests=(
        "c01e3bbd79904c05830ce0ad5e04c57e0a370f2bb0679a5cad98c6d61ffb1a2d",
        # the same without dancing, which is no part of the 155
        "14f4a4ba929b7869647ad1d1733ced800d2f940abefbd87929debd5bdda4abfe",
    ),
    terms="research use",
    citation=(
        'R. Tron, R. Vidal, "A Benchmark for the Comparison of 3-D Motion Segmentation '
        'Algorithms", CVPR 2007.'
    ),
    homepage="http://www.vision.jhu.edu/data/hopkins155/",
    uncounted=("dancing",),
)
EYALEB = DataSet(
    name="eyaleb",
    title="Extended Yale B, cropped faces",
    kind="faces",
    size=("2432", "2016", "38"),
    archives=(
        Archive("CroppedYale.zip", _mirrored(_YALE), members=r"yaleB\d+_P00A.*\.pgm"),
    ),
    convert=_convert.convert_yale,
    layout=_points(
        2432,
        2016,
        "|u1",
        ("bad", "|b1"),
        ("subject", "<i8"),
        ("azimuth", "<i8"),
        ("elevation", "<i8"),
    ),
    counts=(64,) * 38,
    digests=("69d1592926fb338f4a9bc688469495de264a802fa1ee2f087294a60c04ebf1cc",),
    terms="research use",
    citation=(
        'A. Georghiades, P. Belhumeur, D. Kriegman, "From Few to Many: Illumination '
        'Cone Models for Face Recognition under Variable Lighting and Pose", IEEE '
        'PAMI 23(6), 2001; K.-C. Lee, J. Ho, D. Kriegman, "Acquiring Linear Subspaces '
        'for Face Recognition under Variable Lighting", IEEE PAMI 27(5), 2005.'
    ),
    homepage="http://vision.ucsd.edu/~leekc/ExtYaleDatabase/ExtYaleB.html",
    image_shape=(48, 42),
    class_names=_SUBJECTS,
    side_digest="a7e5ab2868d3f4bb7ac6c5dac7cfdbe112f81c879f9ae8e18905bd1d0eefc290",
    fingerprint=_fingerprint("eyaleb"),
    tolerance=4.0,
)
COIL20 = DataSet(
    name="coil20",
    title="COIL-20, objects on a turntable",
    kind="objects",
    size=("1440", "1024", "20"),
    archives=(
        Archive(
            "coil-20-proc.zip",
            _mirrored(_COIL + "coil-20/coil-20-proc.zip"),
            "md5:464dec76a6abfcd00e8de6cf1e7d0acc",
            members=r"coil-20-proc/obj\d+__\d+\.png$",
        ),
    ),
    convert=_convert.convert_coil20,
    layout=_points(1440, 1024, "<f8"),
    counts=(72,) * 20,
    digests=("31e4abef48fb2b2be344cfc8cfb17abd8bf54130b83ea34683aad3ab8ff2600b",),
    terms="research use",
    citation=(
        'S. Nene, S. Nayar, H. Murase, "Columbia Object Image Library (COIL-20)", '
        "Technical Report CUCS-005-96, Columbia University, 1996."
    ),
    homepage="https://www.cs.columbia.edu/CAVE/software/softlib/coil-20.php",
    image_shape=(32, 32),
    class_names=tuple(f"obj{number}" for number in range(1, 21)),
    side_digest="b27004fabc156146c7288358712f7c7a90fc24bf85a2d08e82700ffd5c559521",
    fingerprint=_fingerprint("coil20"),
    tolerance=4.0,
)
COIL100 = DataSet(
    name="coil100",
    title="COIL-100, objects on a turntable, in grey",
    kind="objects",
    size=("7200", "1024", "100"),
    archives=(
        Archive(
            "coil-100.zip",
            _mirrored(_COIL + "coil-100/coil-100.zip"),
            members=r"coil-100/obj\d+__\d+\.png$",
        ),
    ),
    convert=_convert.convert_coil100,
    layout=_points(7200, 1024, "|u1", ("angle", "<i8")),
    counts=(72,) * 100,
    digests=("d3080439a1b1a20ffd27d5df86bdb4d4e80e899cef8af819e8a0274872c114c8",),
    terms="research use",
    citation=(
        'S. Nene, S. Nayar, H. Murase, "Columbia Object Image Library (COIL-100)", '
        "Technical Report CUCS-006-96, Columbia University, 1996."
    ),
    homepage="https://www.cs.columbia.edu/CAVE/software/softlib/coil-100.php",
    image_shape=(32, 32),
    class_names=tuple(f"obj{number}" for number in range(1, 101)),
    side_digest="29f2158caab3aa78402a2666ef98f2652d1b589c836aa391a1ce068a4f5b29ab",
    fingerprint=_fingerprint("coil100"),
    # The known images do not tell with which weights colours were mixed to grey.
    tolerance=8.0,
)
USPS = DataSet(
    name="usps",
    title="USPS digits, train then test",
    kind="digits",
    size=("9298", "256", "10"),
    archives=(_usps_archive("zip.train.gz"), _usps_archive("zip.test.gz")),
    convert=_convert.convert_usps,
    layout=_points(9298, 256, "<f4"),
    counts=(1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821),
    digests=("ee4adead6c53bd39cf5ee7618a72b1a6dc83336105c76c8ea8d2549d0a8a8907",),
    terms="none stated",
    citation=(
        'J. Hull, "A Database for Handwritten Text Recognition Research", IEEE PAMI '
        '16(5), 1994; files of T. Hastie, R. Tibshirani, J. Friedman, "The Elements '
        'of Statistical Learning".'
    ),
    homepage="https://hastie.su.domains/ElemStatLearn/data.html",
    image_shape=(16, 16),
    class_names=_DIGITS,
)
MNIST_TEST = DataSet(
    name="mnist_test",
    title="MNIST digits",
    kind="digits",
    size=("10000", "784", "10"),
    archives=(
        _mnist_archive("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        _mnist_archive("t10k-labels-idx1-ubyte.gz", "ec29112dd5afc8b62a52d9c1d73c3e9c"),
    ),
    convert=_convert.convert_mnist,
    layout=_points(10000, 784, "|u1"),
    counts=(980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
    digests=("46e567ac820ebf8035c019d1ab94434861e9efca361b3826e08b0ec3f4ac8a7a",),
    terms=_MNIST_TERMS,
    citation=_MNIST_CITATION,
    homepage=_MNIST_HOMEPAGE,
    image_shape=(28, 28),
    class_names=_DIGITS,
)
MNIST_TRAIN = DataSet(
    name="mnist_train",
    title="MNIST digits",
    kind="digits",
    size=("60000", "784", "10"),
    archives=(
        _mnist_archive(
            "train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"
        ),
        _mnist_archive(
            "train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"
        ),
    ),
    convert=_convert.convert_mnist,
    layout=_points(60000, 784, "|u1"),
    counts=(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
    digests=("e0589906ef953192deb3a6955b7bf87f70618cbe1477da14fbda6118743b33b8",),
    terms=_MNIST_TERMS,
    citation=_MNIST_CITATION,
    homepage=_MNIST_HOMEPAGE,
    image_shape=(28, 28),
    class_names=_DIGITS,
)

CATALOG = (
    HOPKINS155,
    EYALEB,
    COIL20,
    COIL100,
    USPS,
    MNIST_TEST,
    MNIST_TRAIN,
)
