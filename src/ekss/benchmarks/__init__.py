"""The paper's tables and figures: plans of cells, a runner, output from rows."""

from ekss.benchmarks._ablation import plan_ablation, write_ablation
from ekss.benchmarks._cells import Cell, Plan
from ekss.benchmarks._data import loaders
from ekss.benchmarks._figure_profiles import FIGURE_PROFILES, FigureProfile
from ekss.benchmarks._figures import FIGURES, Figure
from ekss.benchmarks._hopkins import plan_hopkins, write_hopkins
from ekss.benchmarks._output import (
    merge_table1,
    write_entries,
    write_parameters,
    write_table1,
    write_table2,
    write_table3,
)
from ekss.benchmarks._paper import DATASETS, METHODS
from ekss.benchmarks._profiles import PROFILES, Profile
from ekss.benchmarks._render import read_entries
from ekss.benchmarks._rows import read_rows
from ekss.benchmarks._runner import Step, old_cells, open_cells, run_plan
from ekss.benchmarks._scale import SCALE_PROFILES, ScaleProfile, plan_scale
from ekss.benchmarks._scale_page import write_scale
from ekss.benchmarks._table1 import plan_table1

__all__ = [
    "DATASETS",
    "FIGURES",
    "FIGURE_PROFILES",
    "METHODS",
    "PROFILES",
    "SCALE_PROFILES",
    "Cell",
    "Figure",
    "FigureProfile",
    "Plan",
    "Profile",
    "ScaleProfile",
    "Step",
    "loaders",
    "merge_table1",
    "old_cells",
    "open_cells",
    "plan_ablation",
    "plan_hopkins",
    "plan_scale",
    "plan_table1",
    "read_entries",
    "read_rows",
    "run_plan",
    "write_ablation",
    "write_entries",
    "write_hopkins",
    "write_parameters",
    "write_scale",
    "write_table1",
    "write_table2",
    "write_table3",
]
