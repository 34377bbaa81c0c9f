"""The paper's tables and figures: plans of cells, a runner, pages from rows.

A method or a data set outside the paper enters the tables by :func:`register_method`
or :func:`register_dataset`.
"""

from ekss.benchmarks._ablation import plan_ablation, write_ablation
from ekss.benchmarks._alternatives import (
    ALTERNATIVES_PROFILES,
    AlternativesProfile,
    plan_alternatives,
    write_alternatives,
)
from ekss.benchmarks._data import (
    DATASETS,
    BenchData,
    Points,
    loaders,
    register_dataset,
)
from ekss.benchmarks._figure1 import figure1_page, plan_figure1
from ekss.benchmarks._figure2 import figure2_page, plan_figure2
from ekss.benchmarks._figures34 import (
    figure3_page,
    figure4_page,
    plan_figure3,
    plan_figure4,
)
from ekss.benchmarks._hopkins import plan_hopkins, write_hopkins
from ekss.benchmarks._methods import METHODS, Method, register_method
from ekss.benchmarks._pages import Study
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
from ekss.benchmarks._table1 import (
    merge_table1,
    plan_table1,
    read_entries,
    without_known,
    write_entries,
    write_parameters,
    write_table1,
    write_table2,
    write_table3,
)

FIGURES = {
    "figure1": Study(plan_figure1, figure1_page),
    "figure2": Study(plan_figure2, figure2_page),
    "figure3": Study(plan_figure3, figure3_page),
    "figure4": Study(plan_figure4, figure4_page),
}

__all__ = [
    "ALTERNATIVES_PROFILES",
    "DATASETS",
    "FIGURES",
    "FIGURE_PROFILES",
    "METHODS",
    "PROFILES",
    "SCALE_PROFILES",
    "AlternativesProfile",
    "BenchData",
    "Cell",
    "FigureProfile",
    "Method",
    "Plan",
    "Points",
    "Profile",
    "ScaleProfile",
    "Step",
    "Study",
    "loaders",
    "merge_table1",
    "old_cells",
    "open_cells",
    "plan_ablation",
    "plan_alternatives",
    "plan_hopkins",
    "plan_scale",
    "plan_table1",
    "read_entries",
    "read_rows",
    "register_dataset",
    "register_method",
    "run_plan",
    "without_known",
    "write_ablation",
    "write_alternatives",
    "write_entries",
    "write_hopkins",
    "write_parameters",
    "write_scale",
    "write_table1",
    "write_table2",
    "write_table3",
]
