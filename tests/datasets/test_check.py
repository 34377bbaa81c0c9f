import dataclasses

import numpy as np
import pytest

from ekss.datasets._catalog import CATALOG, named
from ekss.datasets._store import array_digest, check_arrays, fingerprint


def changed(small, **arrays):
    return {**small.arrays, **arrays}


@pytest.mark.parametrize("dataset", CATALOG, ids=lambda dataset: dataset.name)
def test_catalogue_entry_agrees_with_itself(dataset):
    sizes = {name: shape for name, _, shape in dataset.layout}
    if sizes:
        assert sum(dataset.counts) == sizes["X"][0] == int(dataset.size[0])
        assert np.prod(dataset.image_shape) == sizes["X"][1] == int(dataset.size[1])
        assert len(dataset.counts) == len(dataset.class_names) == int(dataset.size[2])
    if dataset.side_digest:
        assert len(dataset.fingerprint) == 32 * len(dataset.counts)
        assert 0 < dataset.tolerance < 10
    for digest in (*dataset.digests, *filter(None, [dataset.side_digest])):
        assert len(digest) == 64
        int(digest, 16)
    for archive in dataset.archives:
        assert len(archive.urls) >= 2
    assert dataset.citation
    assert dataset.terms


def test_names_expand_and_unknown_ones_are_refused():
    assert named(["all"], CATALOG) == list(CATALOG)
    assert [d.name for d in named(["eyaleb"], CATALOG)] == ["eyaleb"]
    assert [d.name for d in named(["mnist"], CATALOG)] == ["mnist_test", "mnist_train"]
    with pytest.raises(ValueError, match=r"'iris'; choose hopkins155, .* or all"):
        named(["iris"], CATALOG)


def test_digest_sees_name_dtype_shape_and_bytes():
    base = np.arange(6, dtype=np.int64)
    others = [
        ("y", base),
        ("X", base.astype(np.int32)),
        ("X", base.view(np.uint64)),
        ("X", base.reshape(2, 3)),
        ("X", base[::-1]),
    ]
    digests = {array_digest(name, array) for name, array in [("X", base), *others]}
    assert len(digests) == 1 + len(others)
    strided = np.arange(12, dtype=np.int64).reshape(3, 4).T
    copied = np.ascontiguousarray(strided)
    assert array_digest("X", strided) == array_digest("X", copied)


def test_exact_arrays_are_the_reference_and_others_are_left_out(small_mnist):
    arrays = changed(small_mnist, image_shape=np.array([5, 4]))
    checked = check_arrays(small_mnist.dataset, arrays)
    assert checked.variant == "reference"
    assert set(checked.arrays) == {"X", "y"}


def test_one_changed_pixel_is_refused_where_conversion_is_exact(small_mnist):
    pixels = small_mnist.arrays["X"].copy()
    pixels[3, 3] ^= 1
    with pytest.raises(
        ValueError, match=r"digest expected [0-9a-f]{64}, found [0-9a-f]"
    ):
        check_arrays(small_mnist.dataset, changed(small_mnist, X=pixels))


def test_wrong_arrays_are_refused_with_what_was_expected(small_mnist):
    X, y = small_mnist.arrays["X"], small_mnist.arrays["y"]
    cases = [
        (changed(small_mnist, X=X[:-1]), r"shape of X expected \(6, 20\), found \(5"),
        (
            changed(small_mnist, X=X.astype(float)),
            r"dtype of X expected \|u1, found <f8",
        ),
        (changed(small_mnist, y=y * 0), r"class counts expected \(2, 2, 2\), found"),
        (
            changed(small_mnist, y=y - 1),
            r"class counts expected \(2, 2, 2\), found \(\)",
        ),
        ({"X": X}, "arrays expected one called y, found X"),
    ]
    for arrays, message in cases:
        with pytest.raises(ValueError, match=message):
            check_arrays(small_mnist.dataset, arrays)


def test_sequences_are_checked_in_shape_and_number_of_motions(small_hopkins):
    assert check_arrays(small_hopkins.dataset, small_hopkins.arrays).arrays
    x = small_hopkins.arrays["cars1__x"]
    with pytest.raises(ValueError, match=r"shape of cars1__x expected \(3, 5, 4\)"):
        check_arrays(small_hopkins.dataset, changed(small_hopkins, cars1__x=x[:2]))
    one = np.ones(5, np.int64)
    with pytest.raises(ValueError, match=r"class counts expected \(0, 0, 1, 1\)"):
        check_arrays(small_hopkins.dataset, changed(small_hopkins, cars1__s=one))
    lost = {k: v for k, v in small_hopkins.arrays.items() if k != "cars1__s"}
    with pytest.raises(ValueError, match="one called cars1__s"):
        check_arrays(small_hopkins.dataset, lost)


def test_other_rounding_is_accepted_as_converted(small_coil20):
    rounded = np.floor(small_coil20.arrays["X"] * 255) / 255
    arrays = changed(small_coil20, X=rounded)
    assert check_arrays(small_coil20.dataset, arrays).variant == "converted"
    assert (
        check_arrays(small_coil20.dataset, small_coil20.arrays).variant == "reference"
    )


def pictures(small):
    return small.arrays["X"].reshape(-1, 32, 32)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda images: 1 - images,
        lambda images: images.transpose(0, 2, 1),
        lambda images: images[:, :, ::-1],
        lambda images: images[:, ::-1],
        lambda images: images[np.random.default_rng(0).permutation(len(images))],
        lambda images: images[::-1],
        lambda images: images.reshape(3, 4, 32, 32)[:, ::-1],
        lambda images: images / 255,
        lambda images: np.full_like(images, np.nan),
    ],
    ids="inverted transposed mirrored upside shuffled classes order dark nan".split(),
)
def test_images_that_are_not_the_same_are_refused(small_coil20, spoil):
    X = np.ascontiguousarray(spoil(pictures(small_coil20))).reshape(12, -1)
    with pytest.raises(ValueError, match=r"mean images .* expected at most 4.0, found"):
        check_arrays(small_coil20.dataset, changed(small_coil20, X=X))


def test_labels_must_be_exact_even_if_images_are_not(small_coil20):
    X = np.floor(small_coil20.arrays["X"] * 255) / 255
    y = np.tile(np.arange(3), 4)
    with pytest.raises(ValueError, match="arrays but X expected"):
        check_arrays(small_coil20.dataset, changed(small_coil20, X=X, y=y))


def test_fingerprint_is_the_mean_over_cells_of_halves_of_classes():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (10, 6 * 9), dtype=np.uint8)
    y = np.array([0, 1, 0, 1, 0, 1, 1, 1, 0, 0])
    found = fingerprint(X, y, (6, 9))
    assert found.shape == (2, 2, 4, 4)
    rows = np.flatnonzero(y == 1)[3:]
    image = X[rows].reshape(-1, 6, 9)
    # cells begin at 0, 1, 3, 4 of 6 rows and at 0, 2, 4, 6 of 9 columns
    assert found[1, 1, 1, 3] == pytest.approx(image[:, 1:3, 6:9].mean())
    assert found[1, 1, 3, 0] == pytest.approx(image[:, 4:6, 0:2].mean())


def test_data_sets_without_fingerprint_accept_no_other_digest(small_coil20):
    strict = dataclasses.replace(small_coil20.dataset, side_digest=None)
    X = np.floor(small_coil20.arrays["X"] * 255) / 255
    with pytest.raises(ValueError, match="digest expected"):
        check_arrays(strict, changed(small_coil20, X=X))
