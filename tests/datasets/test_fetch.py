import hashlib
import sys

import numpy as np
import pytest

from ekss.datasets import _store
from ekss.datasets._sources import fetch


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def md5s(small):
    return {n: "md5:" + hashlib.md5(c).hexdigest() for n, c in small.files.items()}


def test_download_becomes_the_canonical_file(small_mnist, mirror, tmp_path):
    mirror.files = small_mnist.files
    dataset = small_mnist.served_by(mirror.url, digests=md5s(small_mnist))
    assert fetch(dataset, tmp_path / "new").variant == "reference"
    assert names_in(tmp_path / "new") == ["mnist_test.npz"]
    stored = _store.load(dataset, tmp_path / "new")
    np.testing.assert_array_equal(stored.arrays["X"], small_mnist.arrays["X"])


@pytest.mark.parametrize("fault", ["gone", "cut"])
@pytest.mark.parametrize("name", ["small_usps", "small_hopkins"])
def test_second_mirror_is_used_after_a_fault(name, fault, mirror, tmp_path, request):
    small = request.getfixturevalue(name)
    mirror.files = small.files
    dataset = small.served_by(f"{mirror.url}/{fault}", f"{mirror.url}/good")
    fetch(dataset, tmp_path)
    assert names_in(tmp_path) == [dataset.filename]
    assert any(f"/{fault}/" in path for path in mirror.asked)
    assert any("/good/" in path for path in mirror.asked)


def test_web_page_in_place_of_an_archive_is_refused(small_usps, mirror, tmp_path):
    mirror.files = {name: b"<html>moved</html>" for name in small_usps.files}
    dataset = small_usps.served_by(mirror.url)
    with pytest.raises(OSError, match="web page"):
        fetch(dataset, tmp_path)
    assert names_in(tmp_path) == []


def test_all_failures_are_reported_and_the_earlier_file_stays(
    small_mnist, mirror, tmp_path
):
    _store.save(small_mnist.dataset, small_mnist.arrays, tmp_path)
    before = (tmp_path / "mnist_test.npz").read_bytes()
    mirror.files = small_mnist.files
    dataset = small_mnist.served_by(f"{mirror.url}/gone", f"{mirror.url}/cut")
    with pytest.raises(OSError, match="could not be downloaded") as caught:
        fetch(dataset, tmp_path)
    message = str(caught.value)
    assert f"{mirror.url}/gone/t10k-images-idx3-ubyte.gz: 404" in message
    assert f"{mirror.url}/cut/t10k-images-idx3-ubyte.gz: " in message
    assert "ekss data import" in message
    assert "\n" not in message
    assert names_in(tmp_path) == ["mnist_test.npz"]
    assert (tmp_path / "mnist_test.npz").read_bytes() == before


def test_wrong_digest_is_refused_with_both_digests(small_mnist, mirror, tmp_path):
    mirror.files = small_mnist.files
    right = md5s(small_mnist)
    wrong = right | {"t10k-labels-idx1-ubyte.gz": "md5:" + "0" * 32}
    dataset = small_mnist.served_by(mirror.url, digests=wrong)
    with pytest.raises(OSError, match=r"md5 expected 0{32}, found [0-9a-f]{32}"):
        fetch(dataset, tmp_path)
    assert names_in(tmp_path) == []


def test_download_of_other_data_is_refused(small_usps, mirror, tmp_path):
    train = small_usps.files["zip.train.gz"]
    mirror.files = {"zip.train.gz": train, "zip.test.gz": train}
    with pytest.raises(ValueError, match=r"shape of X expected \(5, 256\), found \(6"):
        fetch(small_usps.served_by(mirror.url), tmp_path)
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("kind", [None, "md5"])
def test_plain_http_without_a_strong_digest_is_not_asked(small_mnist, kind, tmp_path):
    digests = {name: f"{kind}:{'0' * 32}" for name in small_mnist.files} if kind else {}
    dataset = small_mnist.served_by("http://127.0.0.1:9", digests=digests)
    with pytest.raises(OSError, match="plain http, and no SHA-256 digest to check it"):
        fetch(dataset, tmp_path)


def test_unreachable_host_is_a_failure_that_is_reported(
    small_mnist, tmp_path, monkeypatch
):
    monkeypatch.setenv("NO_PROXY", "*")
    digests = {name: f"sha256:{'0' * 64}" for name in small_mnist.files}
    dataset = small_mnist.served_by("http://127.0.0.1:9", digests=digests)
    with pytest.raises(OSError, match=r"could not be downloaded .*Connection"):
        fetch(dataset, tmp_path)


def test_missing_pooch_is_named_with_its_remedy(small_mnist, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "ekss\[data\]"'):
        fetch(small_mnist.served_by("http://127.0.0.1:9"), tmp_path)
    assert names_in(tmp_path) == []
