import dataclasses
import inspect

import numpy as np
import pytest

import ekss.datasets
from ekss.datasets import (
    _catalog,
    _store,
    fetch_coil20,
    fetch_hopkins155,
    fetch_mnist,
    fetch_usps,
)

FETCHERS = [getattr(ekss.datasets, n) for n in dir(ekss.datasets) if n[:6] == "fetch_"]


@pytest.fixture
def home(small_mnist, small_usps, small_coil20, small_hopkins, tmp_path, monkeypatch):
    """A data home with small data sets in place of the real ones."""
    train = dataclasses.replace(small_mnist.dataset, name="mnist_train")
    names = ("mnist_test", "usps", "coil20", "hopkins155")
    smalls = (small_mnist, small_usps, small_coil20, small_hopkins)
    for name, small in zip(names, smalls, strict=True):
        _store.save(small.dataset, small.arrays, tmp_path)
        monkeypatch.setitem(_catalog.BY_NAME, name, small.dataset)
    _store.save(train, small_mnist.arrays, tmp_path)
    monkeypatch.setitem(_catalog.BY_NAME, "mnist_train", train)
    monkeypatch.setenv("EKSS_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("fetcher", FETCHERS, ids=lambda f: f.__name__)
def test_every_fetcher_has_the_same_options_and_names_both_ways_in(fetcher, tmp_path):
    options = inspect.signature(fetcher).parameters
    for name, default in (
        ("data_home", None),
        ("download_if_missing", True),
        ("return_X_y", False),
    ):
        assert options[name].default is default
        assert options[name].kind is inspect.Parameter.KEYWORD_ONLY
    with pytest.raises(OSError, match=r"ekss data fetch .* ekss data import") as caught:
        fetcher(data_home=tmp_path, download_if_missing=False)
    assert str(tmp_path) in str(caught.value)


def test_points_come_as_bunch_or_pair(home, small_usps):
    bunch = fetch_usps()
    np.testing.assert_array_equal(bunch.data, small_usps.arrays["X"])
    np.testing.assert_array_equal(bunch.target, small_usps.arrays["y"])
    assert bunch.images.shape == (5, 16, 16)
    assert np.shares_memory(bunch.images, bunch.data)
    assert bunch.target_names[0] == "0"
    assert bunch.n_train == 7291
    assert bunch.variant == "reference"
    for word in ("Source:", "Cite:", "Terms:"):
        assert word in bunch.DESCR
    X, y = fetch_usps(return_X_y=True)
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)


def test_argument_wins_over_the_variable(home, tmp_path):
    with pytest.raises(FileNotFoundError, match="elsewhere"):
        fetch_coil20(data_home=tmp_path / "elsewhere", download_if_missing=False)
    assert fetch_coil20(data_home=home).data.shape == (12, 1024)


def test_mnist_joins_train_then_test(home, small_mnist):
    once = small_mnist.arrays["X"]
    np.testing.assert_array_equal(fetch_mnist().data, once)
    np.testing.assert_array_equal(fetch_mnist("train").data, once)
    both = fetch_mnist("all")
    np.testing.assert_array_equal(both.data, np.concatenate([once, once]))
    assert both.images.shape == (12, 5, 4)
    X, y = fetch_mnist("all", return_X_y=True)
    assert len(X) == len(y) == 12
    with pytest.raises(ValueError, match="subset='both' is unknown"):
        fetch_mnist("both")


def test_hopkins_sequence_has_one_row_per_point(home, small_hopkins):
    one = fetch_hopkins155("cars1")
    x, s = small_hopkins.arrays["cars1__x"], small_hopkins.arrays["cars1__s"]
    assert one.data.shape == (5, 8)
    for point in range(5):
        expected = np.concatenate([x[0, point], x[1, point]])
        np.testing.assert_array_equal(one.data[point], expected)
    np.testing.assert_array_equal(one.tracks, x[:2])
    np.testing.assert_array_equal(one.target, s - 1)
    X, y = fetch_hopkins155("cars1", return_X_y=True)
    np.testing.assert_array_equal(X, one.data)
    np.testing.assert_array_equal(y, one.target)


def test_hopkins_all_leaves_out_dancing_which_has_a_name(home):
    everything = fetch_hopkins155()
    assert everything.names == ["cars10", "cars1"]
    assert [one.name for one in everything.sequences] == everything.names
    assert [one.target.max() for one in everything.sequences] == [2, 1]
    X, y = fetch_hopkins155(return_X_y=True)
    assert [len(rows) for rows in X] == [len(labels) for labels in y] == [4, 5]
    assert fetch_hopkins155("dancing").target.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="sequence='cars99' is not one of Hopkins"):
        fetch_hopkins155("cars99")


def test_missing_data_are_downloaded_once(small_mnist, mirror, tmp_path, monkeypatch):
    mirror.files = small_mnist.files
    monkeypatch.setitem(
        _catalog.BY_NAME, "mnist_test", small_mnist.served_by(mirror.url)
    )
    first = fetch_mnist(data_home=tmp_path)
    np.testing.assert_array_equal(first.data, small_mnist.arrays["X"])
    asked = len(mirror.asked)
    fetch_mnist(data_home=tmp_path)
    assert len(mirror.asked) == asked == 2
