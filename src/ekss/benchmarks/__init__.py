"""The paper's tables and figures: plans of cells, a runner, pages from rows.

A method or a data set outside the paper enters the tables by :func:`register_method`
or :func:`register_dataset`.
"""

from ekss.benchmarks._ablation import plan_ablation, write_ablation
from ekss.benchmarks._data import (
    DATASETS,
    BenchData,
    Points,
    loaders,
    register_dataset,
)
from ekss.benchmarks._figure1 import plan_figure1, write_figure1
from ekss.benchmarks._figure2 import plan_figure2, write_figure2
from ekss.benchmarks._figure3 import plan_figure3, write_figure3
from ekss.benchmarks._figure4 import plan_figure4, write_figure4
from ekss.benchmarks._hopkins import plan_hopkins, write_hopkins
from ekss.benchmarks._pages import Figure
from ekss.benchmarks._profiles import (
    FIGURE_PROFILES,
    PROFILES,
    FigureProfile,
    Profile,
)
from ekss.benchmarks._runner import (
    Cell,
    Plan,
    Step,
    old_cells,
    open_cells,
    read_rows,
    run_plan,
)
from ekss.benchmarks._scale import (
    SCALE_PROFILES,
    ScaleProfile,
    plan_scale,
    write_scale,
)
from ekss.benchmarks._settings import METHODS, Method, register_method
from ekss.benchmarks._table1 import plan_table1
from ekss.benchmarks._tables import (
    merge_table1,
    read_entries,
    write_entries,
    write_parameters,
    write_table1,
    write_table2,
    write_table3,
)

FIGURES = {
    "figure1": Figure(plan_figure1, write_figure1),
    "figure2": Figure(plan_figure2, write_figure2),
    "figure3": Figure(plan_figure3, write_figure3),
    "figure4": Figure(plan_figure4, write_figure4),
}

__all__ = [
    "DATASETS",
    "FIGURES",
    "FIGURE_PROFILES",
    "METHODS",
    "PROFILES",
    "SCALE_PROFILES",
    "BenchData",
    "Cell",
    "Figure",
    "FigureProfile",
    "Method",
    "Plan",
    "Points",
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
    "register_dataset",
    "register_method",
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
