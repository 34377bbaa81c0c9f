"""Everything about the machine: workers, progress, memory, files, rows, Dask."""
