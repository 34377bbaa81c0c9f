"""Files as people make them: read right without options, or refused with the remedy."""

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pytest
from PIL import Image

from ekss.io import InputError, read_points

X = np.array(
    [[1.5, 20.25, -3], [2.5, 30.5, -4.75], [0.125, 40, 5], [1234.5, 50.75, 6.5]]
)
NAMES = ("width", "height", "depth")


def lines(*rows, end="\n"):
    return end.join(rows) + end


def joined(separator=",", decimal=".", header=True, thousands="", quote=""):
    """Write the points with these marks."""

    def cell(value):
        text = f"{value:,.6f}".rstrip("0").rstrip(".")
        text = text.replace(",", "T").replace(".", decimal).replace("T", thousands)
        return f"{quote}{text}{quote}"

    rows = [separator.join(map(cell, row)) for row in X]
    return lines(*([separator.join(NAMES)] if header else []), *rows)


def beside(column, name="extra", first=False):
    """Write the points with one more column, the last or the first."""
    rows = joined().splitlines()
    cells = [name, *column]
    pairs = zip(cells, rows, strict=True)
    return lines(*(f"{c},{row}" if first else f"{row},{c}" for c, row in pairs))


def tiff(pages):
    stream = io.BytesIO()
    images = [Image.fromarray(page) for page in pages]
    images[0].save(stream, "TIFF", save_all=True, append_images=images[1:])
    return stream.getvalue()


def npy(values):
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


def zipped(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return stream.getvalue()


PLAIN = joined()
GERMAN = joined(";", ",")
PAGES = np.arange(48, dtype=np.uint8).reshape(4, 3, 4)
R_TABLE = lines(
    '"width" "height" "depth"',
    '"a" 1.5 20.25 -3',
    '"b" 2.5 30.5 -4.75',
    '"c" 0.125 40 5',
    '"d" 1234.5 50.75 6.5',
)
INSTRUMENT = lines("Instrument: Alpha 7", "Operator: B. Sample", "") + GERMAN
UNITS = PLAIN.replace("depth\n", "depth\nmm,mm,m/s\n")
MISSING = PLAIN.replace("2.5,30.5", "2.5,NA")
THOUSANDS = joined(thousands=",", quote='"')
DATES = ["2024-01-31", "2024-02-01", "2024-02-02", "2024-02-03"]

# name of the file: what it holds, and what the note must say
READ = {
    "plain.csv": (PLAIN, None),
    "no_header.csv": (joined(header=False), None),
    "windows.csv": (PLAIN.replace("\n", "\r\n"), None),
    "old_mac.csv": (PLAIN.replace("\n", "\r"), None),
    "no_last_newline.csv": (PLAIN.rstrip("\n"), None),
    "bom.csv": (b"\xef\xbb\xbf" + PLAIN.encode(), None),
    "utf16.csv": (PLAIN.encode("utf-16"), "read as UTF-16"),
    "utf16_no_bom.csv": (PLAIN.encode("utf-16-le"), "read as UTF-16"),
    "latin1.csv": (
        beside(["Köln", "Bonn", "Köln", "Bonn"], "stadt").encode("latin-1"),
        "read as Windows-1252",
    ),
    "tabs.tsv": (joined("\t"), None),
    "tabs.txt": (joined("\t"), None),
    "tabs.csv": (joined("\t"), None),
    "pipes.txt": (joined("|"), None),
    "blanks.txt": (joined(" ", header=False), None),
    "aligned.dat": (joined("    ").replace("\n", "\n  "), None),
    "blanks_and_commas.csv": (joined(", "), None),
    "semicolons.csv": (joined(";"), None),
    "german.csv": (GERMAN, None),
    "german.txt": (joined("\t", ",", header=False), None),
    "german_blanks.txt": (joined(" ", ","), None),
    "german_thousands.csv": (joined(";", ",", thousands="."), None),
    "german_in_quotes.csv": (joined(",", ",", quote='"'), None),
    "french.csv": (joined(";", ",", thousands="\u202f"), None),
    "swiss.csv": (joined(";", ".", thousands="'"), None),
    "thousands.csv": (THOUSANDS, None),
    "all_quoted.csv": (joined(quote='"'), None),
    "excel.csv": ("sep=;\n" + GERMAN, None),
    "excel16.csv": (("sep=\t\r\n" + joined("\t")).encode("utf-16"), "UTF-16"),
    "comments.csv": ("# made by hand\n# in 2024\n" + PLAIN, None),
    "comments_below.csv": (PLAIN + "# end of the table\n", None),
    "savetxt.txt": ("# width height depth\n" + joined(" ", header=False), None),
    "matlab.txt": ("% exported\n" + joined("\t", header=False), None),
    "trailing.csv": (PLAIN.replace("\n", ",\n"), None),
    "trailing_below.csv": (PLAIN.replace("\n", ";\n").replace(",", ";"), None),
    "units.csv": (UNITS, "line 2 taken for units: mm, mm, m/s"),
    "instrument.csv": (INSTRUMENT, "2 lines before the table left out: Instrument"),
    "r_table.txt": (R_TABLE, None),
    "dates.csv": (
        beside(DATES, "day"),
        "left out as dates or times: day ('2024-01-31'",
    ),
    "times.csv": (
        beside(["10:30", "10:31", "10:32", "10:33"], "time", first=True),
        None,
    ),
    "species.csv": (
        beside(["setosa", "setosa", "virginica", "virginica"], "species"),
        "left out as text: species ('setosa')",
    ),
    "empty_column.csv": (beside(["", "", "", ""]), "left out as empty: extra"),
    "packed.csv.gz": (gzip.compress(PLAIN.encode()), None),
    "packed.csv.bz2": (bz2.compress(GERMAN.encode()), None),
    "packed.txt.xz": (lzma.compress(joined(" ").encode()), None),
    "packed.tsv.zip": (zipped(inner_tsv=joined("\t")), None),
    "packed.zip": (zipped(points_csv=PLAIN), None),
    "packed.npy.gz": (gzip.compress(npy(X)), None),
}

AMBIGUOUS = lines("a;b", "1,234;5", "2,345;6")
# what is wrong: the file, what it holds, what the line must say, words that help
REFUSED = {
    "thousands or decimals": (
        *("sales.csv", AMBIGUOUS),
        "'1,234' in line 2, which may be 1234 or 1.234; say --decimal . for the first",
        ("--decimal", "."),
    ),
    "decimals or thousands": (
        *("sales.csv", AMBIGUOUS),
        "or --decimal , for the second",
        ("--decimal", ","),
    ),
    "points of thousands": (
        *("umsatz.csv", lines("a;b", "1.234;5", "2.345;6")),
        "'1.234' in line 2, which may be 1234 or 1.234; say --decimal ,",
        ("--decimal", ","),
    ),
    "points among commas": (
        *("mixed.csv", lines("lat;x", "48.137;3,5", "49.001;4,5")),
        "'48.137' in line 2 beside '3,5' in line 2",
        ("--decimal", ","),
    ),
    "two decimal marks": (
        *("mixed.csv", lines("a;b;c", "1,5;2.5;1", "3,5;4.5;2")),
        "so its decimal mark is unclear",
        ("--drop-column", "b"),
    ),
    "one column of decimal commas": (
        *("werte.csv", lines("Wert", "1,5", "2,7")),
        "if commas are decimal marks, say --decimal ,",
        ("--decimal", ","),
    ),
    "decimal commas between commas": (
        *("werte.csv", lines("a,b", "1,5,2,5", "3,5,4,5")),
        "4 columns in line 2, but 2 in the first",
        None,
    ),
    "missing": (
        *("gaps.csv", MISSING),
        "'NA' in line 3, column 'height'; fill it in, or choose with --missing",
        ("--missing", "zero"),
    ),
    "slip of the pen": (
        *("slip.csv", PLAIN.replace("30.5", "30.5x")),
        "'30.5x' in line 3, column 'height', where a number should be",
        ("--drop-column", "height"),
    ),
    "comment that may be a row": (
        *("off.csv", PLAIN.replace("2.5,", "#2.5,")),
        "'#2.5,30.5,-4.75' in line 3, a comment that may be a row",
        None,
    ),
    "workbook": ("book.xlsx", b"PK\x03\x04", "save the sheet as .csv", None),
    "workbook called csv": ("book.csv", b"PK\x03\x04junk", "a workbook of Excel", None),
    "gzip called csv": ("x.csv", gzip.compress(b"1,2\n"), "name end in .gz", None),
    "picture called csv": ("x.csv", bytes(range(256)), "is no text", None),
    "two in a zip": ("two.zip", zipped(a_csv="1", b_csv="2"), "holds 2 files", None),
    "no gzip": ("x.csv.gz", b"1,2\n3,4\n", "cannot be read as a .gz file", None),
    "half an xz": ("x.csv.xz", lzma.compress(PLAIN.encode())[:-20], "too early", None),
    "only words": ("w.csv", lines("a,b", "x,y", "z,w"), "no column of numbers", None),
}
FAST = ("-k", 1, "--method", "kss", "--dim", 1, "--jobs", 1)


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", READ)
def test_files_of_all_dialects_are_read_right_and_clustered(ekss, tmp_path, name):
    content, note = READ[name]
    path = write(tmp_path, name, content)
    found = read_points(path)
    np.testing.assert_allclose(found.points, X, rtol=1e-12)
    assert found.source == name
    if found.feature_names is not None:
        assert found.feature_names == NAMES
    assert note is None or any(note in text for text in found.notes), found.notes
    assert note is not None or not found.notes
    ended = ekss("cluster", name, *FAST)
    assert (ended.code, "Traceback" in ended.err) == (0, False), ended.err
    assert note is None or note in ended.out
    assert (tmp_path / f"{name.split('.')[0]}-clusters.csv").exists()


@pytest.mark.parametrize("case", REFUSED)
def test_files_in_doubt_are_refused_with_what_to_type(ekss, tmp_path, case):
    name, content, sentence, words = REFUSED[case]
    write(tmp_path, name, content)
    ended = ekss("cluster", name, *FAST)
    assert ended.code == 2
    (line,) = ended.err.splitlines()
    assert sentence in line, line
    if words is not None:
        assert ekss("cluster", name, *FAST, *words).code == 0


@pytest.mark.parametrize(
    ("decimal", "expected"),
    [(".", [[1234, 5], [2345, 6]]), (",", [[1.234, 5], [2.345, 6]])],
)
def test_the_decimal_mark_decides(tmp_path, decimal, expected):
    path = write(tmp_path, "sales.csv", AMBIGUOUS)
    np.testing.assert_array_equal(read_points(path, decimal=decimal).points, expected)


@pytest.mark.parametrize("name", [name for name in READ if "packed" not in name])
def test_large_files_are_read_as_small_ones(tmp_path, monkeypatch, name):
    monkeypatch.setattr("ekss.io._tables._LARGE", 0)
    found = read_points(write(tmp_path, name, READ[name][0]))
    np.testing.assert_allclose(found.points, X, rtol=1e-12)


@pytest.mark.parametrize("large", [False, True])
def test_missing_values_are_nan_where_they_may_be(tmp_path, monkeypatch, large):
    monkeypatch.setattr("ekss.io._tables._LARGE", 0 if large else 10**9)
    expected = X.copy()
    expected[1, 1] = np.nan
    for gap in ("", "NA", "n/a", "NaN", "null", "?", "-"):
        path = write(tmp_path, "gaps.csv", PLAIN.replace("30.5", gap))
        found = read_points(path, missing=True)
        np.testing.assert_allclose(found.points, expected)
    path = write(tmp_path, "gaps.csv", PLAIN.replace("30.5", "inf"))
    with pytest.raises(ValueError, match="holds inf at line 3, column 'height'"):
        read_points(path, missing=True)


def test_stacks_of_images_are_images(ekss, tmp_path):
    write(tmp_path, "pages.tif", tiff(PAGES))
    np.save(tmp_path / "stack.npy", PAGES)
    for name in ("pages.tif", "stack.npy"):
        found = read_points(tmp_path / name)
        np.testing.assert_array_equal(found.points, PAGES.reshape(4, 12))
        assert (found.kind, found.image_shape) == ("images", (3, 4))
        ended = ekss("cluster", name, *FAST)
        assert "4 images of 3 x 4 pixels" in ended.out, ended.err
    folder = tmp_path / "folder"
    folder.mkdir()
    write(folder, "a.tif", tiff(PAGES[:3]))
    write(folder, "b.tiff", tiff(PAGES[3:]))
    found = read_points(folder)
    assert found.ids == ("a.tif#0", "a.tif#1", "a.tif#2", "b.tiff")
    np.testing.assert_array_equal(found.points, PAGES.reshape(4, 12))
    write(tmp_path, "half.tif", tiff(PAGES)[:-40])
    assert ekss("cluster", "half.tif", *FAST).code == 2


@pytest.mark.parametrize(
    ("columns", "positions"),
    [
        ("width,depth", [0, 2]),
        ("depth, width", [2, 0]),
        ("0-1", [0, 1]),
        ("height:depth", [1, 2]),
        ("2,0:1", [2, 0, 1]),
    ],
)
def test_columns_are_taken_by_name_number_and_range(ekss, tmp_path, columns, positions):
    write(tmp_path, "a.csv", PLAIN)
    words = columns.split(",")
    found = read_points(tmp_path / "a.csv", take=[word.strip() for word in words])
    np.testing.assert_array_equal(found.points, X[:, positions])
    assert found.feature_names == tuple(NAMES[i] for i in positions)
    ended = ekss("cluster", "a.csv", "--columns", columns, *FAST)
    assert f"{len(positions)} features" in ended.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--columns", "breadth"), "no column 'breadth'; it has 'width', 'height'"),
        (("--columns", "2-1"), "runs backwards"),
        (("--columns", " , "), "names no column"),
        (("--columns", "width", "--drop-column", "width"), "cannot both be a feature"),
        (("--decimal", "x"), "--decimal x is no decimal mark; write . or ,"),
    ],
)
def test_wrong_columns_and_marks_are_refused(ekss, tmp_path, words, sentence):
    write(tmp_path, "a.csv", PLAIN)
    ended = ekss("cluster", "a.csv", *FAST, *words)
    assert ended.code == 2
    assert sentence in ended.err


def test_packed_files_are_bounded(ekss, tmp_path):
    for ending, pack in (("gz", gzip), ("bz2", bz2), ("xz", lzma)):
        zeros = pack.compress(b"0,0\n" * 600_000)
        write(tmp_path, f"bomb.csv.{ending}", zeros)
        words = ("-k", 2, "--memory-limit", "2MB")
        ended = ekss("cluster", f"bomb.csv.{ending}", *words)
        assert ended.code == 2
        assert "unpacks to more than 2 MB" in ended.err


def test_labels_are_read_from_every_dialect(ekss, tmp_path):
    write(tmp_path, "a.csv", PLAIN)
    truth = lines("name;class", "a;x", "b;x", "c;y", "d;y")
    write(tmp_path, "truth.csv.gz", gzip.compress(truth.encode("utf-16")))
    ended = ekss("cluster", "a.csv", *FAST, "--labels", "truth.csv.gz")
    assert "Against the true labels: error 50.0 %" in ended.out, ended.err


def random_dialect(rng):
    """Draw a table of numbers and write it in some way; return text and numbers."""
    separator = rng.choice([",", ";", "\t", "|", " "])
    decimal = rng.choice([".", ","])
    group = rng.choice(["", "", " ", "'", "," if decimal == "." else "."])
    if separator in (",", " ") and group == ".":
        group = ""  # points are decimal marks there, as the page says
    quote = '"' if separator in (decimal, group) else rng.choice(["", '"'])
    shape = rng.integers(2, 9), rng.integers(2, 5)
    digits = rng.integers(0, 5)
    values = rng.choice([1, 30, 1000, 50_000]) * rng.standard_normal(shape)
    values = np.round(values, digits) + 0.0

    def cell(value):
        text = f"{value:,.{digits}f}".replace(".", "D").replace(",", str(group))
        return f"{quote}{text.replace('D', str(decimal))}{quote}"

    rows = [str(separator).join(map(cell, row)) for row in values]
    names = [str(separator).join(f"n{i}" for i in range(shape[1]))]
    header = names if rng.random() < 0.5 else []
    return lines(*header, *rows), values


def test_no_way_to_write_a_table_is_misread_in_silence(tmp_path):
    rng, refused = np.random.default_rng(0), 0
    for _ in range(300):
        text, values = random_dialect(rng)
        path = write(tmp_path, "a.csv", text)
        try:
            found = read_points(path).points
        except InputError:
            refused += 1
        else:
            np.testing.assert_allclose(found, values, rtol=1e-12, err_msg=text)
    assert refused < 60
