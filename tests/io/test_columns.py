"""Columns of tables: which are features, which name the rows, which are matched."""

import numpy as np
import pandas as pd
import pytest

from ekss.io import InputError, _tables, read_points

NUMBERS = np.array([[1.5, 2.0], [3.5, 4.0], [5.5, 6.0]])


@pytest.fixture(params=["csv", "large csv", "tsv", "parquet"])
def read(request, tmp_path, monkeypatch):
    """Read a frame through a file of each format that has names."""
    ending = request.param.split()[-1]
    monkeypatch.setattr(_tables, "_LARGE", 0 if "large" in request.param else 10**9)

    def through_file(data, **options):
        frame, path = pd.DataFrame(data), tmp_path / f"a.{ending}"
        if ending == "parquet":
            frame.to_parquet(path)
        else:
            separator = "\t" if ending == "tsv" else ","
            frame.to_csv(path, index=False, sep=separator)
        return read_points(path, **options)

    return through_file


def features(**others):
    return {"x": NUMBERS[:, 0], "y": NUMBERS[:, 1], **others}


IDENTIFIERS = ["id", "ID", "customer_id", "Order ID", "PassengerId", "user.id", "rowID"]
COUNTERS = ["Unnamed: 0", "index", "rownames", "__index_level_0__"]


@pytest.mark.parametrize("name", [*IDENTIFIERS, *COUNTERS])
def test_unique_identifiers_name_the_rows_wherever_they_stand(read, name):
    for columns in ({name: [7, 9, 8], **features()}, features(**{name: [7, 9, 8]})):
        found = read(columns)
        np.testing.assert_array_equal(found.points, NUMBERS)
        assert found.feature_names == found.columns == ("x", "y")
        assert (found.ids, found.id_name) == (("7", "9", "8"), name)
        assert found.left_out == ()


@pytest.mark.parametrize("name", IDENTIFIERS)
@pytest.mark.parametrize("values", [[7, 7, 8], ["u", "u", "v"]])
def test_identifiers_that_repeat_are_left_out(read, name, values):
    found = read(features(**{name: values}))
    assert found.feature_names == ("x", "y")
    assert (found.ids, found.left_out) == (None, (name,))


def test_only_one_identifier_names_the_rows(read):
    found = read({"Unnamed: 0": [0, 1, 2], "order_id": [5, 4, 3], **features()})
    assert (found.id_name, found.left_out) == ("Unnamed: 0", ("order_id",))
    assert found.feature_names == ("x", "y")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("grid", [1, 2, 3]),
        ("acid", [1, 2, 3]),
        ("refractive_index", [1, 2, 3]),
        ("id_17", [1, 2, 3]),
        ("width", [1, 2, 3]),
        ("index", [3, 3, 4]),
        ("customer_id", [0.5, 1.0, 2.0]),
    ],
)
def test_other_numbers_stay_features(read, name, values):
    for columns in ({name: values, **features()}, features(**{name: values})):
        found = read(columns)
        assert found.feature_names == tuple(columns)
        assert (found.ids, found.left_out) == (None, ())
        np.testing.assert_array_equal(
            found.points, np.column_stack([*columns.values()])
        )


def test_identifiers_are_left_out_beside_the_column_asked_for(read):
    columns = {"order_id": [5, 4, 3], **features(who=list("abc"), store_id=[1, 1, 2])}
    found = read(columns, id_column="who")
    assert found.ids == ("a", "b", "c")
    assert found.feature_names == ("x", "y")
    assert found.left_out == ("order_id", "store_id")


def test_identifiers_can_be_kept(read):
    columns = {"id": [3, 1, 2], **features(store_id=[1, 1, 2])}
    found = read(columns, id_column=False)
    assert found.feature_names == ("id", "x", "y", "store_id")
    np.testing.assert_array_equal(found.points, np.column_stack([*columns.values()]))
    assert (found.ids, found.id_name, found.left_out) == (None, None, ())


def test_identifiers_alone_are_refused(read):
    with pytest.raises(InputError, match=r"no column of numbers beside 'id'.*=False"):
        read({"id": [1, 2, 3]})


def test_a_column_cannot_name_the_rows_and_be_dropped(read):
    with pytest.raises(InputError, match=r"'x' of .* cannot both name the rows and be"):
        read(features(), id_column="x", drop=["x"])


def test_true_is_no_column(read):
    with pytest.raises(InputError, match="id_column=True names no column"):
        read(features(), id_column=True)


def test_columns_are_taken_by_name_in_the_order_asked_for(read):
    columns = {"note": ["u", "v", "v"], "z": [7, 8, 9], **features(who=list("abc"))}
    found = read(columns, columns=["y", "x"])
    np.testing.assert_array_equal(found.points, NUMBERS[:, ::-1])
    assert found.feature_names == ("y", "x")
    assert set(found.left_out) == {"note", "z", "who"}


def test_identifiers_are_features_where_they_are_asked_for(read):
    found = read({"id": [3, 1, 2], **features()}, columns=["x", "id"])
    np.testing.assert_array_equal(found.points, [[1.5, 3], [3.5, 1], [5.5, 2]])
    assert (found.ids, found.left_out) == (None, ("y",))


def test_rows_keep_their_names_where_columns_are_matched(read):
    found = read({"customer_id": [3, 1, 2], **features()}, columns=["y"])
    assert (found.ids, found.left_out) == (("3", "1", "2"), ("x",))
    both = read({"id": [3, 1, 2], **features()}, columns=["id", "x"], id_column="id")
    assert both.ids == ("3", "1", "2")
    assert both.points[:, 0].tolist() == [3, 1, 2]


def test_missing_columns_are_named(read):
    with pytest.raises(InputError, match=r"lacks the 2 columns 'u', 'v'.*has 'x', 'y'"):
        read(features(), columns=["x", "u", "y", "v"])
    with pytest.raises(InputError, match="lacks the column 'y'"):
        read(features(), columns=["x", "y"], drop=["y"])


def test_names_that_are_numbers_are_matched(tmp_path):
    (tmp_path / "a.csv").write_text("2021,2020,2019\n3,2,1\n6,5,4\n")
    found = read_points(tmp_path / "a.csv", columns=["2019", "2020", "2021"])
    np.testing.assert_array_equal(found.points, [[1, 2, 3], [4, 5, 6]])
    with pytest.raises(InputError, match="lacks the column '2022'"):
        read_points(tmp_path / "a.csv", columns=["2019", "2020", "2022"])


def test_an_identifier_marks_a_header_of_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("sample_id,400,410\n7,1,2\n8,3,4\n")
    found = read_points(tmp_path / "a.csv")
    assert found.feature_names == ("400", "410")
    assert found.ids == ("7", "8")


def test_a_name_that_is_there_twice_is_refused_unless_the_order_is_the_same(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,x,y\n1,2,3\n4,5,6\n")
    found = read_points(path, columns=["x", "x", "y"])
    np.testing.assert_array_equal(found.points, [[1, 2, 3], [4, 5, 6]])
    for wanted in (["y", "x"], ["y", "x", "x"]):
        with pytest.raises(InputError, match="more than one column is called 'x'"):
            read_points(path, columns=wanted)


def test_without_names_columns_are_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("u,1,2\nv,3,4\n")
    found = read_points(tmp_path / "a.csv", columns=["x", "y"])
    np.testing.assert_array_equal(found.points, [[1, 2], [3, 4]])
    assert (found.feature_names, found.columns) == (None, ("1", "2"))
    np.save(tmp_path / "a.npy", NUMBERS)
    found = read_points(tmp_path / "a.npy", columns=["x", "y"])
    assert (found.feature_names, found.columns) == (None, None)
