"""Tables: what is a name, what a number, and where exactly something is wrong."""

import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ekss.io import InputError, _tables, read_points


@pytest.fixture
def table(tmp_path):
    def read(text, name="a.csv", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_points(path, **options)

    return read


def random_table(rows=40, columns=5, seed=0):
    rng = np.random.default_rng(seed)
    scales = 10.0 ** rng.integers(-300, 300, size=(rows, columns))
    return rng.standard_normal((rows, columns)) * scales


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
@pytest.mark.parametrize("with_header", [True, False])
@pytest.mark.parametrize("with_ids", [True, False])
@pytest.mark.parametrize("large", [True, False])
def test_every_digit_comes_back(table, monkeypatch, name, with_header, with_ids, large):
    monkeypatch.setattr(_tables, "_LARGE", 0 if large else 10**9)
    X = random_table()
    ids = tuple(f"p_{i}" for i in range(len(X)))
    frame = pd.DataFrame(X, columns=list("abcde"), index=ids)
    separator = "\t" if name == "a.tsv" else ","
    text = frame.to_csv(sep=separator, header=with_header, index=with_ids)
    found = table(text, name)
    np.testing.assert_array_equal(found.points, X)
    assert found.ids == (ids if with_ids else None)
    assert found.feature_names == (tuple("abcde") if with_header else None)
    assert (found.kind, found.source) == ("table", name)


def test_pandas_defaults_come_back(table):
    frame = pd.DataFrame(random_table())
    with_index = table(frame.to_csv())
    assert with_index.ids == tuple(map(str, range(40)))
    without = table(frame.to_csv(index=False))
    assert without.ids is None
    for found in (with_index, without):
        np.testing.assert_array_equal(found.points, frame.to_numpy())


def test_savetxt_comes_back(tmp_path):
    X = random_table()
    np.savetxt(tmp_path / "a.csv", X, delimiter=",", header="a,b,c,d,e", fmt="%.17g")
    found = read_points(tmp_path / "a.csv")
    np.testing.assert_array_equal(found.points, X)
    assert found.feature_names == tuple("abcde")


@pytest.mark.parametrize(
    ("text", "ids", "names"),
    [
        ("x,y\n1,2\n3,4\n", None, ("x", "y")),
        ("1,2\n3,4\n", None, None),
        ("1,2\r\n\r\n3,4", None, None),
        ("\ufeffx;y\n1;2\n3;4\n", None, ("x", "y")),
        ("\ufeff1,2\n3,4\n", None, None),
        ("who,x,y\nu,1,2\nv,3,4\n", ("u", "v"), ("x", "y")),
        ("u,1,2\nv,3,4\n", ("u", "v"), None),
        ("id,x,y\n70,1,2\n80,3,4\n", ("70", "80"), ("x", "y")),
        ("ID,2019,2020\n70,1,2\n80,3,4\n", ("70", "80"), ("2019", "2020")),
        ('"a, b",x\n"1",2\n3,"4"\n', None, ("a, b", "x")),
        (" x , y\n 1, 2\n3,4 \n", None, ("x", "y")),
        ("u 1\t1\t2\nv 2\t3\t4\n", ("u 1", "v 2"), None),
    ],
)
@pytest.mark.parametrize("large", [True, False])
def test_names_and_ids_are_told_from_numbers(
    table, monkeypatch, text, ids, names, large
):
    monkeypatch.setattr(_tables, "_LARGE", 0 if large else 10**9)
    found = table(text)
    np.testing.assert_array_equal(found.points, [[1, 2], [3, 4]])
    assert found.ids == ids
    assert found.feature_names == names


def test_choices_of_the_caller_win(table):
    text = "x,who,y,z\n1,u,2,9\n3,v,4,9\n"
    found = table(text, id_column="who", drop=["z"])
    np.testing.assert_array_equal(found.points, [[1, 2], [3, 4]])
    assert (found.ids, found.feature_names) == (("u", "v"), ("x", "y"))
    assert table(text, id_column=1, drop=[3]).ids == ("u", "v")
    assert table(text, id_column="1", drop=["3"]).ids == ("u", "v")
    np.testing.assert_array_equal(
        table("1,2\n3,4\n5,6\n", header=True).points, [[3, 4], [5, 6]]
    )
    np.testing.assert_array_equal(
        table("0,1,2\n3,4,5\n", header=False).points, [[0, 1, 2], [3, 4, 5]]
    )
    dropped = table("who,x,y\nu,1,2\nu,3,4\n", drop=["who"])
    assert (dropped.ids, dropped.points.shape) == (None, (2, 2))


@pytest.mark.parametrize("large", [True, False])
def test_columns_of_text_are_left_out_in_words(table, monkeypatch, large):
    monkeypatch.setattr(_tables, "_LARGE", 0 if large else 10**9)
    for text, name in (
        ("a,x,y\nu,1,2\nu,3,4\n", "a"),
        ("1,2,u\n3,4,u\n", "2"),
        ("x,when,y\n1,May 2 2024,2\n3,May 3 2024,4\n", "when"),
    ):
        found = table(text)
        np.testing.assert_array_equal(found.points, [[1, 2], [3, 4]])
        assert (found.ids, found.left_out, found.identifiers) == (None, (name,), ())
        assert f": {name} (" in found.notes[0]


def test_marks_are_judged_over_all_of_a_large_file(table, monkeypatch):
    monkeypatch.setattr(_tables, "_LARGE", 0)
    rows = [f"{i};{i}.5" for i in range(1, 400)]
    for doubtful in ("7;1,234", "1,234;7.5"):
        with pytest.raises(InputError, match=r"'1,234' in line 400 beside '1.5'"):
            table("\n".join([*rows, doubtful]))
    assert table("\n".join([*rows, "7;1,234.5"])).points[-1, 1] == 1234.5


def test_single_column(table):
    np.testing.assert_array_equal(table("x\n1\n2\n").points, [[1], [2]])
    np.testing.assert_array_equal(table("1\n2\n").points, [[1], [2]])


BAD_TEXT = {
    "ragged, short": ("a,b\n1,2\n3\n4,5\n", "1 column in line 3, but 2"),
    "ragged, long": ("1,2\n3,4,5\n", "3 columns in line 2, but 2"),
    "text": ("a,b\n1,2\n3,oops\n", "'oops' in line 3, column 'b'"),
    "text in the first column": ("a,b\n1,2\noops,4\n5,6\n", "'oops' in line 3.*'a'"),
    "text without header": ("1,2\n3,oops\n", "'oops' in line 2, column '1'"),
    "empty cell": ("a,b\n1,2\n3,\n", "nothing in line 3, column 'b'"),
    "two decimal marks": ("a;b\n1,5;2\n3;4.5\n", "'1,5' in line 2 and '4.5' in line 3"),
    "underscore": ("a,b\n1,2\n3,1_000\n", "'1_000' in line 3, column 'b'"),
    "nan": ("a,b\n1,2\n\n3,NaN\n", "nan at line 4, column 'b'"),
    "infinity": ("1,2\n3,-inf\n", "-inf at line 2, column '1'"),
    "too large": ("1,2\n3,1e999\n", "inf at line 2, column '1'"),
    "text after number": ("1,x\n3,4\n", "mixes numbers and text"),
    "one row": ("a,b\n1,2\n", "1 row"),
    "header alone": ("a,b\n", "header and no row"),
    "blank": ("\n\n \n", "blank lines only"),
    "nothing": ("", "is empty"),
    "bad quotes": ('a,b\n"1,2\n3,4\n', "cannot be read as .csv text"),
    "not UTF-8": (b"a,b\n1,2\n3,\xff\xfe\n", "'ÿþ' in line 3, column 'b'"),
    "NUL": (b"a,b\n1,2\n3,\x00\n", "is no text: it has control characters"),
}


def test_blanks_in_the_name_of_the_only_column_are_no_separators(table):
    found = table("body height\n1.5\n2\n")
    assert found.points.tolist() == [[1.5], [2.0]]
    assert found.feature_names == ("body height",)


@pytest.mark.parametrize("case", BAD_TEXT)
@pytest.mark.parametrize("large", [True, False])
def test_bad_text_is_refused_with_its_place(table, monkeypatch, case, large):
    monkeypatch.setattr(_tables, "_LARGE", 0 if large else 10**9)
    text, reason = BAD_TEXT[case]
    with pytest.raises(InputError, match=reason) as caught:
        table(text)
    assert "a.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"id_column": "none"}, "no column 'none'; it has 'a', 'b'"),
        ({"id_column": 7}, "no column 7"),
        ({"drop": ["none"]}, "no column 'none'"),
        ({"id_column": "b"}, "id '2' twice in column 'b'"),
    ],
)
def test_wrong_columns_are_refused(table, options, reason):
    with pytest.raises(InputError, match=reason):
        table("a,b\n1,2\n3,2\n", **options)


def test_text_needs_no_other_package(table, monkeypatch):
    monkeypatch.setattr(_tables, "_LARGE", 0)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    np.testing.assert_array_equal(table("1,2\n3,4\n").points, [[1, 2], [3, 4]])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "bool"])
def test_parquet_comes_back(tmp_path, dtype):
    X = (np.random.default_rng(0).random((6, 3)) * 9).astype(dtype)
    pd.DataFrame(X, columns=list("abc")).to_parquet(tmp_path / "a.parquet")
    found = read_points(tmp_path / "a.parquet")
    assert found.points.dtype == ("float32" if dtype == "float32" else "float64")
    assert found.points.flags.c_contiguous
    np.testing.assert_array_equal(found.points, X)
    assert (found.ids, found.feature_names) == (None, ("a", "b", "c"))


def test_parquet_ids_from_the_index_or_the_first_column(tmp_path):
    path = tmp_path / "a.parquet"
    frame = pd.DataFrame({"x": [1.0, 3.0], "y": [2.0, 4.0]}, index=["u", "v"])
    frame.to_parquet(path)
    first = read_points(path)
    frame.reset_index().to_parquet(path)
    second = read_points(path)
    frame["who"] = ["p", "q"]
    frame.to_parquet(path, index=False)
    third = read_points(path, id_column="who")
    for found, ids in ((first, "uv"), (second, "uv"), (third, "pq")):
        assert found.ids == tuple(ids)
        assert found.feature_names == ("x", "y")
        np.testing.assert_array_equal(found.points, [[1, 2], [3, 4]])
    assert read_points(path, drop=["who"]).points.shape == (2, 2)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"x": [1.0, None]}, "nothing at row 1, column 'x'"),
        ({"x": [1.0, float("nan")]}, "nan at row 1, column 'x'"),
        ({"x": [1.0]}, "1 row"),
        ({"x": [[1.0], [2.0]]}, "list.* in column 'x'"),
        ({"t": ["u", "v"]}, "no column of numbers"),
    ],
)
def test_unfit_parquet_is_refused(tmp_path, columns, reason):
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=reason):
        read_points(tmp_path / "a.parquet")


def test_text_and_dates_of_parquet_are_left_out_in_words(tmp_path):
    columns = {
        "x": [1.0, 2.0],
        "t": ["u", "u"],
        "d": pd.to_datetime(["2024-01-05", "2024-01-06"]),
        "c": pd.Categorical(["p", "q"]),
    }
    pd.DataFrame(columns).to_parquet(tmp_path / "a.parquet")
    found = read_points(tmp_path / "a.parquet")
    assert (found.feature_names, found.left_out) == (("x",), ("t", "d", "c"))
    assert found.notes[0] == "left out as text: t ('u'), c ('p')"
    assert found.notes[1].startswith("left out as dates or times: d ('2024-01-05")


def test_missing_values_of_parquet_are_nan_where_they_may_be(tmp_path):
    columns = {"x": [1.0, None], "n": [None, 7], "b": [True, None]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    found = read_points(tmp_path / "a.parquet", missing=True)
    np.testing.assert_array_equal(found.points, [[1, np.nan, 1], [np.nan, 7, np.nan]])


def test_spoilt_parquet_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame(random_table()).rename(columns=str).to_parquet(path)
    whole = path.read_bytes()
    for spoilt in (whole[:-20], b"PAR1", b"noise" * 99):
        path.write_bytes(spoilt)
        with pytest.raises(InputError, match=r"cannot be read as a \.parquet"):
            read_points(path)


def test_parquet_without_its_package_names_the_extra(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(InputError, match=r"pyarrow.*pip install 'ekss\[files\]'"):
        read_points(tmp_path / "a.parquet")
