"""Files that are small on disk and large in memory, that never end, or that lie."""

import gzip
import io
import os
import socket
import struct
import subprocess
import sys
import zipfile
import zlib

import h5py
import numpy as np
import pandas
import pytest
from PIL import Image
from scipy.io import savemat

from ekss.datasets._convert import convert_hopkins, convert_mnist, convert_usps
from ekss.io import InputError, load_model, read_labels, read_points
from ekss.runtime import foreign

ZEROS = 1_500_000_000
LIMIT = "1GB"


def npy_header(shape, dtype="<f8"):
    stream = io.BytesIO()
    about = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, about)
    return stream.getvalue()


def refuse(path, reason, **options):
    for read in (read_points, read_labels):
        with pytest.raises(InputError, match=reason) as caught:
            read(path, **options)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 500


def packed_zeros(size, before=b""):
    """Return zlib's packing of so many zeros, made without having them in memory."""
    packer = zlib.compressobj(1)
    parts = [packer.compress(before)]
    parts += [packer.compress(bytes(2**20)) for _ in range(size // 2**20)]
    parts += [packer.compress(bytes(size % 2**20)), packer.flush()]
    return b"".join(parts)


def mat5(name, shape, numbers):
    """Return the bytes of one variable of type double, as MATLAB lays them out."""
    flags = struct.pack("<4I", 6, 8, 6, 0)
    sides = struct.pack("<2I2i", 5, 8, *shape)
    called = struct.pack("<2I", 1, len(name)) + name.encode().ljust(8, b"\0")
    body = flags + sides + called + struct.pack("<2I", 9, len(numbers)) + numbers
    return struct.pack("<2I", 14, len(body)) + body


def mat5_bomb(path):
    rows, columns = 1000, ZEROS // 8000
    size = rows * columns * 8
    head = mat5("X", (rows, columns), b"")
    head = struct.pack("<2I", 14, len(head) - 8 + size) + head[8:-4]
    head += struct.pack("<I", size)
    whole = packed_zeros(size, head)
    start = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    path.write_bytes(start + struct.pack("<2I", 15, len(whole)) + whole)
    return rows * columns * 8


def test_npz_is_refused_by_the_size_it_declares(tmp_path):
    path = tmp_path / "bomb.npz"
    shape = (1000, ZEROS // 8000)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("X.npy", "w") as member:
            member.write(npy_header(shape))
            for _ in range(1000):
                member.write(bytes(shape[1] * 8))
    assert path.stat().st_size < ZEROS / 100
    with pytest.raises(
        InputError, match=r"needs about 1\.5 GB, more than memory_limit"
    ):
        read_points(path, memory_limit=LIMIT)


@pytest.mark.parametrize("ending", ["npy", "npz"])
@pytest.mark.parametrize("shape", [(10**9, 10**9), (7, 3), (2**62, 8)])
def test_arrays_that_declare_other_sizes_than_they_have_are_refused(
    tmp_path, ending, shape
):
    path = tmp_path / f"lie.{ending}"
    content = npy_header(shape) + bytes(800)
    if ending == "npy":
        path.write_bytes(content)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("X.npy", content)
    with pytest.raises(InputError, match=r"needs about|declares 168 bytes .* has 800"):
        read_points(path)


def test_members_packed_in_rare_ways_are_refused(tmp_path):
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("X.npy", npy_header((5, 4)) + bytes(160))
    with pytest.raises(InputError, match="packed in a way that is not read"):
        read_points(path)


def test_mat_is_refused_by_the_size_it_declares(tmp_path):
    path = tmp_path / "bomb.mat"
    declared = mat5_bomb(path)
    assert declared > 10**9
    assert path.stat().st_size < declared / 100
    with pytest.raises(InputError, match="needs about"):
        read_points(path, memory_limit=LIMIT)


def test_mat_with_more_in_it_than_it_declares_is_not_unpacked(tmp_path):
    path = tmp_path / "bomb.mat"
    body = packed_zeros(10**8, mat5("X", (5, 4), bytes(160)))
    start = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    path.write_bytes(start + struct.pack("<2I", 15, len(body)) + body)
    with pytest.raises(InputError, match=r"cannot be read as a \.mat file"):
        read_points(path)


def test_hdf5_is_refused_by_the_size_it_declares(tmp_path):
    path = tmp_path / "bomb.h5"
    with h5py.File(path, "w") as file:
        # Nothing is stored; readers fill in zeros.
        file.create_dataset("X", (10**6, 10**5), "f8", chunks=(1000, 1000))
    with pytest.raises(InputError, match="needs about"):
        read_points(path)


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_text_is_refused_by_its_size(tmp_path, ending):
    path = tmp_path / f"long.{ending}"
    with open(path, "wb") as stream:
        stream.truncate(ZEROS)
    refuse(path, r"needs about .* more than memory_limit", memory_limit=LIMIT)


def test_parquet_is_refused_by_the_rows_it_declares(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "bomb.parquet"
    column = pyarrow.array(np.zeros(10**6))
    with parquet.ParquetWriter(path, pyarrow.schema([("x", "float64")])) as writer:
        for _ in range(20):
            writer.write_table(pyarrow.table({"x": column}))
    refuse(path, "needs about 0.3 GB", memory_limit="100MB")


def test_gzip_and_zip_of_data_sets_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("ekss.datasets._convert.MOST_UNPACKED", 10**6)
    packed = tmp_path / "t10k-images-idx3-ubyte.gz"
    packed.write_bytes(gzip.compress(bytes(2 * 10**6)))
    for convert in (convert_mnist, convert_usps):
        with pytest.raises(ValueError, match="more than the 1 MB allowed"):
            convert([packed, packed])
    archive = tmp_path / "Hopkins155.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a_truth.mat", bytes(2 * 10**6))
    with pytest.raises(ValueError, match="unpacks to 2 MB, more than the 1 MB"):
        convert_hopkins([archive])


COLUMNS = 200_000
WIDE = f"""
import sys
from ekss.io import read_points
from ekss.runtime.memory import peak_bytes
before = peak_bytes()
found = read_points(sys.argv[1], memory_limit="2GB")
assert found.points.shape == (3, {COLUMNS}), found.points.shape
print(peak_bytes() - before)
"""


def test_many_columns_take_less_than_a_kilobyte_each(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(3 * (",".join(["1"] * COLUMNS) + "\n"))
    ended = subprocess.run(
        [sys.executable, "-c", WIDE, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(ended.stdout) < 1000 * COLUMNS


SPECIAL = (".csv", ".tsv", ".npy", ".npz", ".mat", ".h5", ".parquet", ".ekss")


@pytest.mark.parametrize("ending", SPECIAL)
def test_pipes_devices_and_sockets_are_refused_without_being_opened(tmp_path, ending):
    pipe, device = tmp_path / f"pipe{ending}", tmp_path / f"device{ending}"
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    named = tmp_path / f"socket{ending}"
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(named))
    words = {pipe: "is a pipe", device: "is a device", named: "is a socket"}
    for path, reason in words.items():
        if ending == ".ekss":
            with pytest.raises(InputError, match=f"{reason}, not a regular file"):
                load_model(path)
        else:
            refuse(path, f"{reason}, not a regular file")


def test_a_pipe_among_images_is_refused(tmp_path):
    Image.new("L", (8, 8)).save(tmp_path / "a.png")
    os.mkfifo(tmp_path / "b.png")
    with pytest.raises(InputError, match=r"b\.png is a pipe"):
        read_points(tmp_path)


def test_an_image_whose_name_is_not_utf8_is_refused(tmp_path):
    for name in (b"a.png", b"b\xff.png"):
        Image.new("L", (8, 8)).save(tmp_path / "new.png")
        os.rename(tmp_path / "new.png", os.path.join(os.fsencode(tmp_path), name))
    with pytest.raises(InputError, match=r"not UTF-8.*rename it") as caught:
        read_points(tmp_path)
    str(caught.value).encode()


def test_links_in_a_circle_are_refused(tmp_path):
    path = tmp_path / "loop.csv"
    path.symlink_to(path)
    refuse(path, "symbolic links.*check the path")


def external(file, other):
    file.create_dataset("X", (4, 4), "u1", external=[(str(other), 0, 16)])


def virtual(file, other):
    with h5py.File(other, "w") as source:
        source["X"] = np.ones((4, 4))
    layout = h5py.VirtualLayout((4, 4), "f8")
    layout[:] = h5py.VirtualSource(str(other), "X", (4, 4))
    file.create_virtual_dataset("X", layout)


@pytest.mark.parametrize("make", [external, virtual])
def test_numbers_of_other_files_are_refused(tmp_path, make):
    other = tmp_path / "secret"
    other.write_bytes(bytes(range(16)))
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        make(file, other)
    with pytest.raises(InputError, match="takes its numbers from other files"):
        read_points(path)


def test_external_and_soft_links_are_not_followed(tmp_path):
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["X"] = np.ones((4, 4))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["own"] = np.zeros((3, 3))
        file["X"] = h5py.ExternalLink("secret.h5", "X")
        file["soft"] = h5py.SoftLink("/X")
    np.testing.assert_array_equal(
        read_points(tmp_path / "a.h5").points, np.zeros((3, 3))
    )
    for key in ("X", "soft"):
        with pytest.raises(InputError, match=f"no array '{key}'"):
            read_points(tmp_path / "a.h5", key=key)


def test_parts_of_a_sparse_matrix_may_not_be_links(tmp_path):
    path = tmp_path / "a.mat"
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["jc"] = np.arange(4)
    with h5py.File(path, "w", userblock_size=512) as file:
        group = file.create_group("X")
        group.attrs["MATLAB_sparse"] = 3
        group["jc"] = h5py.ExternalLink("secret.h5", "jc")
    with pytest.raises(InputError, match="jc is a link to another place"):
        read_points(path)


def sound_file(folder, ending):
    """Write the matrix of 4 x 4 ones, or an image of it; return what to read."""
    path, ones = folder / f"a{ending}", np.ones((4, 4))
    if ending == ".png":
        Image.fromarray(ones.astype(np.uint8)).save(path)
        return folder
    if ending == ".parquet":
        pandas.DataFrame(ones, columns=list("abcd")).to_parquet(path)
    elif ending == ".h5":
        with h5py.File(path, "w") as file:
            file["X"] = ones
    else:
        savemat(path, {"X": ones})
    return path


@pytest.mark.parametrize("ending", [".mat", ".h5", ".parquet", ".png"])
def test_a_decoder_that_crashes_takes_nothing_along(tmp_path, monkeypatch, ending):
    path = sound_file(tmp_path, ending)
    # Stands for a file that makes the decoder crash.
    running = foreign._decoder()
    running.send_signal(11)
    running.wait()
    monkeypatch.setattr(foreign, "_decoder", lambda: running)
    with pytest.raises(InputError, match="decoder crashed by SIGSEGV"):
        read_points(path, least_rows=1)
    monkeypatch.undo()
    assert (read_points(path, least_rows=1).points == 1).all()


def test_a_decoder_that_hangs_is_stopped(tmp_path, monkeypatch):
    path = tmp_path / "a.mat"
    savemat(path, {"X": np.eye(4)})
    running = foreign._decoder()
    running.send_signal(19)
    monkeypatch.setattr(foreign, "_PATIENCE", 0.5)
    with pytest.raises(InputError, match="decoding it took more than"):
        read_points(path)
    monkeypatch.undo()
    np.testing.assert_array_equal(read_points(path).points, np.eye(4))


def test_an_image_is_refused_by_the_size_it_declares(tmp_path):
    chunk = b"IHDR" + struct.pack(">2I5B", 30_000, 30_000, 8, 0, 0, 0, 0)
    head = struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + head + b"\0\0\0\1IDAT")
    with pytest.raises(
        InputError, match="has 30000 x 30000 pixels, more than 67108864"
    ):
        read_points(tmp_path)


def test_columns_whose_names_go_on_after_a_dot_stay_apart(tmp_path):
    path, names = tmp_path / "a.parquet", [f"x.{i}" for i in range(100)]
    wanted = np.arange(5 * 101).reshape(5, 101)
    frame = pandas.DataFrame(wanted, columns=["x", *names])
    frame.to_parquet(path)
    found = read_points(path)
    assert found.feature_names == ("x", *names)
    np.testing.assert_array_equal(found.points, wanted)


@pytest.mark.parametrize("value", [np.array([1, "a"], object), {"a": 1.0}])
def test_what_is_neither_numbers_nor_text_is_named(tmp_path, value):
    path = tmp_path / "a.mat"
    savemat(path, {"X": value})
    with pytest.raises(InputError, match=r"\[X\] holds (cell|struct), neither numbers"):
        read_points(path, key="X")


# What a file takes here and in the decoder, after a small one had libraries imported.
PEAK = """
import re, sys
from pathlib import Path
from ekss.io import read_points
from ekss.runtime import foreign
from ekss.runtime.memory import peak_bytes, resident_bytes

def of_decoder(word):
    text = Path(f"/proc/{foreign._decoder().pid}/status").read_text()
    return 1024 * int(re.search(word + r":\\s+(\\d+)", text)[1])

small, large = sys.argv[1:]
read_points(small)
here, there = resident_bytes(), of_decoder("VmRSS")
declared = read_points(large).points.nbytes
print(declared, int(peak_bytes() - here), of_decoder("VmHWM") - there)
"""


def packed_hdf5(path, zeros):
    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=zeros, compression="gzip", chunks=(10, 400))


def parquet(path, zeros):
    pandas.DataFrame(zeros).rename(columns=str).to_parquet(path)


@pytest.mark.parametrize(
    ("ending", "write"),
    [
        (".npz", lambda path, zeros: np.savez_compressed(path, X=zeros)),
        (".mat", lambda path, zeros: savemat(path, {"X": zeros}, do_compression=True)),
        (".h5", packed_hdf5),
        (".parquet", parquet),
    ],
)
def test_well_packed_zeros_take_twice_what_they_declare(tmp_path, ending, write):
    small, large = tmp_path / f"small{ending}", tmp_path / f"large{ending}"
    write(small, np.zeros((20, 400)))
    write(large, np.zeros((40_000, 400)))
    assert large.stat().st_size < 2 * 10**6
    ended = subprocess.run(
        [sys.executable, "-c", PEAK, str(small), str(large)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    declared, here, decoder = map(int, ended.stdout.split())
    assert declared == 40_000 * 400 * 8
    # Beside blocks on the way: scipy unpacks 128 KiB at once, a thousandfold here.
    blocks = 15 * 10**7 if ending == ".mat" else 7 * 10**7
    assert here + decoder < 2.1 * declared + blocks, (here, decoder)
