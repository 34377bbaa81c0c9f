"""Points and labels from files of many kinds, labels and models into files."""

from ekss.io._base import InputError, Points
from ekss.io._labels import read_labels, write_labels
from ekss.io._model import SavedModel, load_model, save_model
from ekss.io._points import is_table, read_points

__all__ = [
    "InputError",
    "Points",
    "SavedModel",
    "is_table",
    "load_model",
    "read_labels",
    "read_points",
    "save_model",
    "write_labels",
]
