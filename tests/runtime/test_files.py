import errno
import os
import stat
import threading

import pytest

from ekss.runtime.files import atomic_file, write_atomically


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_content_comes_back_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "a.bin"
    for content in (b"first", b"", b"\x00" * 100_000):
        write_atomically(path, content)
        assert path.read_bytes() == content
    assert names_in(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError, ValueError])
def test_earlier_file_stays_when_writing_is_stopped(tmp_path, stop):
    path = tmp_path / "a.bin"
    write_atomically(path, b"old")

    def half():
        with atomic_file(path) as stream:
            stream.write(b"half of the n")
            raise stop

    with pytest.raises(stop):
        half()
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["a.bin"]


def test_file_is_not_there_before_it_is_whole(tmp_path):
    path = tmp_path / "a.bin"
    with atomic_file(path) as stream:
        stream.write(b"all")
        stream.flush()
        assert not path.exists()
    assert path.read_bytes() == b"all"


def test_full_disk_names_the_file_and_leaves_the_earlier_one(tmp_path, monkeypatch):
    path = tmp_path / "a.bin"
    write_atomically(path, b"old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_atomically(path, b"new")
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["a.bin"]


def test_error_without_a_number_still_names_the_file(tmp_path):
    def fail():
        with atomic_file(tmp_path / "a.bin"):
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match=r"a\.bin: the disk is gone"):
        fail()
    assert names_in(tmp_path) == []


def test_error_about_another_file_is_left_alone(tmp_path):
    def copy():
        with atomic_file(tmp_path / "a.bin"):
            open(tmp_path / "source.bin")

    with pytest.raises(FileNotFoundError) as caught:
        copy()
    assert caught.value.filename == str(tmp_path / "source.bin")


@pytest.mark.parametrize(
    ("place", "kind"),
    [("none/a.bin", FileNotFoundError), ("file/a.bin", NotADirectoryError)],
)
def test_missing_folder_names_the_file(tmp_path, place, kind):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(kind) as caught:
        write_atomically(tmp_path / place, b"new")
    assert caught.value.filename == str(tmp_path / place)


def test_folder_in_the_place_is_refused(tmp_path):
    (tmp_path / "a.bin").mkdir()
    with pytest.raises(IsADirectoryError) as caught:
        write_atomically(tmp_path / "a.bin", b"new")
    assert caught.value.filename == str(tmp_path / "a.bin")
    assert names_in(tmp_path) == ["a.bin"]


def test_folder_without_permission_names_the_file(tmp_path, monkeypatch):
    # root may write everywhere, so the refusal is played
    def refuse(path, mode):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("ekss.runtime.files.open", refuse, raising=False)
    with pytest.raises(PermissionError) as caught:
        write_atomically(tmp_path / "a.bin", b"new")
    assert caught.value.filename == str(tmp_path / "a.bin")


def test_protected_file_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(PermissionError):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"


def test_permissions_of_the_earlier_file_are_kept(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_atomically(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_link_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.bin").write_bytes(b"old")
    (tmp_path / "link.bin").symlink_to(tmp_path / "real" / "a.bin")
    write_atomically(tmp_path / "link.bin", b"new")
    assert (tmp_path / "link.bin").is_symlink()
    assert (tmp_path / "real" / "a.bin").read_bytes() == b"new"
    assert names_in(tmp_path) == ["link.bin", "real"]


def test_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_atomically(pipe, b"through")
    reader.join(timeout=10)
    assert read == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_name_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("a" * 251 + ".bin")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
