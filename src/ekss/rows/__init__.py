"""Rows of points wherever they are: in memory, in a file, or on Dask workers.

:func:`as_rows` wraps an array; the rows are then taken by number, or mapped block by
block, and never all brought into memory at once.
"""

from ekss.rows._blocks import block_rows
from ekss.rows._dask import DaskRows
from ekss.rows._disk import DiskRows
from ekss.rows._memory import MemoryRows
from ekss.rows._protocol import Rows
from ekss.rows._recognise import as_rows

__all__ = ["DaskRows", "DiskRows", "MemoryRows", "Rows", "as_rows", "block_rows"]
