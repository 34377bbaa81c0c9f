import io
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from PIL import Image

from ekss.datasets import CATALOG, _convert, _store
from ekss.datasets._sources import find_sources, import_source, is_trusted


@pytest.fixture
def smalls(small_mnist, small_usps, small_coil20, small_hopkins):
    return (small_mnist, small_usps, small_coil20, small_hopkins)


@pytest.fixture
def catalog(smalls):
    return tuple(small.dataset for small in smalls)


def import_all(path, catalog, home):
    for source in find_sources(path, catalog):
        import_source(source, home)
    return sorted(file.name for file in home.iterdir())


def test_folder_of_archives(smalls, catalog, tmp_path):
    for small in smalls:
        small.write(tmp_path / "given")
    (tmp_path / "given" / "notes.txt").write_text("hello")
    home = tmp_path / "home"
    expected = sorted(dataset.filename for dataset in catalog)
    assert import_all(tmp_path / "given", catalog, home) == expected
    for small in smalls:
        stored = _store.load(small.dataset, home)
        for name, array in small.arrays.items():
            np.testing.assert_array_equal(stored.arrays[name], array)


def test_folder_of_canonical_files_without_record(smalls, catalog, tmp_path):
    given = tmp_path / "given"
    given.mkdir()
    for small in smalls[:2]:
        np.savez(given / small.dataset.filename, **small.arrays, extra=np.arange(3))
    names = import_all(given, catalog, tmp_path / "home")
    assert names == ["mnist_test.npz", "usps.npz"]


def test_another_data_home_can_be_imported(small_mnist, catalog, tmp_path):
    _store.save(small_mnist.dataset, small_mnist.arrays, tmp_path / "old")
    path = tmp_path / "old" / "mnist_test.npz"
    assert import_all(path, catalog, tmp_path / "new") == ["mnist_test.npz"]


@pytest.mark.parametrize("given", ["zip.train.gz", "zip.test.gz"])
def test_one_of_two_archives_finds_the_other_beside_it(
    small_usps, small_mnist, catalog, tmp_path, given
):
    folder = small_usps.write(small_mnist.write(tmp_path / "given"))
    assert import_all(folder / given, catalog, tmp_path / "home") == ["usps.npz"]


def test_zip_under_another_name_is_known_by_its_content(
    small_hopkins, small_coil20, catalog, tmp_path
):
    path = tmp_path / "download (1).zip"
    path.write_bytes(small_hopkins.files["Hopkins155.zip"])
    assert import_all(path, catalog, tmp_path / "home") == ["hopkins155.npz"]
    path.write_bytes(small_coil20.files["coil-20-proc.zip"])
    assert import_all(path, catalog, tmp_path / "home2") == ["coil20.npz"]


def test_missing_second_archive_is_named(small_usps, catalog, tmp_path):
    folder = small_usps.write(tmp_path / "given")
    (folder / "zip.test.gz").unlink()
    (source,) = find_sources(folder, catalog)
    with pytest.raises(
        ValueError, match=r"usps needs zip.test.gz beside .*zip.train.gz"
    ):
        import_source(source, tmp_path / "home")


def test_foreign_files_are_refused_with_what_is_known(catalog, tmp_path):
    (tmp_path / "iris.npz").write_bytes(b"anything")
    for path in (tmp_path, tmp_path / "iris.npz"):
        with pytest.raises(
            ValueError, match=r"holds no data set; .*usps.npz.*zip.train"
        ):
            find_sources(path, catalog)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        find_sources(tmp_path / "nowhere", catalog)


def test_cut_or_wrong_npz_leaves_the_earlier_file(small_mnist, catalog, tmp_path):
    home, given = tmp_path / "home", tmp_path / "given"
    given.mkdir()
    _store.save(small_mnist.dataset, small_mnist.arrays, home)
    before = (home / "mnist_test.npz").read_bytes()
    path = given / "mnist_test.npz"
    for content in (before[:-40], before[:100], b"", b"text", b"\x93NUMPY"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="cannot be read"):
            import_all(path, catalog, home)
    wrong = small_mnist.arrays["X"][::-1]
    np.savez(path, X=wrong, y=small_mnist.arrays["y"])
    with pytest.raises(ValueError, match="digest expected"):
        import_all(path, catalog, home)
    np.save(given / "a.npy", wrong)
    path.write_bytes((given / "a.npy").read_bytes())
    with pytest.raises(ValueError, match="cannot be read"):
        import_all(path, catalog, home)
    assert (home / "mnist_test.npz").read_bytes() == before


def test_damaged_tracks_end_in_a_refusal_or_in_arrays(small_hopkins, tmp_path):
    (name,) = small_hopkins.files
    small_hopkins.write(tmp_path)
    archive = tmp_path / name
    with zipfile.ZipFile(archive) as file:
        whole = {member: file.read(member) for member in file.namelist()}
    member = next(key for key in whole if key.endswith("_truth.mat"))
    rng = np.random.default_rng(0)
    refusals = 0
    for _ in range(150):
        spoilt = bytearray(whole[member])
        spoilt[rng.integers(120, len(spoilt))] ^= 1 << rng.integers(8)
        with zipfile.ZipFile(archive, "w") as file:
            for key, content in {**whole, member: bytes(spoilt)}.items():
                file.writestr(key, content)
        source = find_sources(archive, [small_hopkins.dataset])[0]
        try:
            import_source(source, tmp_path / "home")
        except ValueError:
            refusals += 1
    assert refusals > 50


def test_bombs_in_canonical_files_are_refused(small_mnist, tmp_path):
    path = tmp_path / small_mnist.dataset.filename
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("X.npy", "w") as member:
            for _ in range(600):
                member.write(bytes(2**20))
    source = find_sources(path, [small_mnist.dataset])[0]
    with pytest.raises(ValueError, match="unpacks to 629 MB, more than the 537 MB"):
        import_source(source, tmp_path / "home")


def test_images_of_other_formats_or_sizes_are_not_opened():
    for kind, side in (("GIF", 8), ("TIFF", 8), ("PNG", 1200)):
        file = io.BytesIO()
        Image.new("L", (side, side)).save(file, kind)
        with pytest.raises((OSError, ValueError), match=r"cannot identify|1200 x 1200"):
            _convert._grey(file.getvalue())


def test_archives_fetched_over_plain_http_have_a_digest():
    urls = [(u, a) for dataset in CATALOG for a in dataset.archives for u in a.urls]
    assert any(url.startswith("http://") for url, _ in urls)
    for url, archive in urls:
        assert is_trusted(url, archive), url


def test_damaged_images_end_in_a_refusal_or_in_arrays(small_coil20, tmp_path):
    (name,) = small_coil20.files
    small_coil20.write(tmp_path)
    archive = tmp_path / name
    with zipfile.ZipFile(archive) as file:
        whole = {member: file.read(member) for member in file.namelist()}
    member = next(key for key in whole if key.endswith(".png"))
    source = find_sources(archive, [small_coil20.dataset])[0]
    for at in range(0, len(whole[member]), 3):
        spoilt = whole[member][:at] + b"\x00" + whole[member][at + 2 :]
        with zipfile.ZipFile(archive, "w") as file:
            for key, content in {**whole, member: spoilt}.items():
                file.writestr(key, content)
        # Bytes that decide nothing may change.
        with suppress(ValueError):
            import_source(source, tmp_path / "home")
