"""The paper's tables by one command: plans of cells, a runner, tables from rows."""

from ekss.benchmarks._cells import Cell, Plan
from ekss.benchmarks._data import loaders
from ekss.benchmarks._output import write_table1, write_table2, write_table3
from ekss.benchmarks._paper import DATASETS, METHODS
from ekss.benchmarks._profiles import PROFILES, Profile
from ekss.benchmarks._rows import read_rows
from ekss.benchmarks._runner import Step, open_cells, run_plan
from ekss.benchmarks._table1 import plan_table1

__all__ = [
    "DATASETS",
    "METHODS",
    "PROFILES",
    "Cell",
    "Plan",
    "Profile",
    "Step",
    "loaders",
    "open_cells",
    "plan_table1",
    "read_rows",
    "run_plan",
    "write_table1",
    "write_table2",
    "write_table3",
]
