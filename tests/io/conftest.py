import h5py
import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def matlab73():
    """Write a .mat file as MATLAB does with -v7.3: 512 bytes of its own, then HDF5."""

    def write(path, arrays):
        with h5py.File(path, "w", userblock_size=512, libver="earliest") as file:
            for name, array in arrays.items():
                turned = np.asarray(array).T
                data = file.create_dataset(name, data=turned)
                names = {"float64": "double", "float32": "single"}
                of_class = names.get(turned.dtype.name, turned.dtype.name)
                data.attrs["MATLAB_class"] = np.bytes_(of_class)
            file.create_group("#refs#").create_dataset("a", data=np.zeros((2, 2)))
        with open(path, "r+b") as stream:
            stream.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124))
            stream.write(b"\x00\x02IM")

    return write


@pytest.fixture
def image_folder(tmp_path):
    """Write arrays as images of a folder, by file name."""

    def write(images, folder="images", **options):
        for name, pixels in images.items():
            path = tmp_path / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(path, **options)
        return tmp_path / folder

    return write
