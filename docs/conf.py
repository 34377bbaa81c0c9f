"""The documentation site: ``make docs`` builds it into build/docs."""

import sys
import warnings
from pathlib import Path

import ekss

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "ekss"
author = "The ekss developers"
copyright = author
version = release = ekss.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "api_pages",
    "house_links",
    "mathml",
    "plain_docstrings",
]
templates_path = ["_templates"]
exclude_patterns = ["_ext", "_templates", "**/sg_execution_times.rst"]
nitpicky = True
nitpick_ignore_regex = [
    # Users of these libraries know where their manuals are; the site asks for nothing
    # from outside, so there is no inventory of them.
    (r"py:.*", r"(numpy|scipy|sklearn|pandas|dask|matplotlib|joblib|rich)\..*"),
    # Attributes that numpydoc takes for names with pages of their own.
    (r"py:obj", r"filter_bytes_|translate"),
]

# Pages in Markdown, which are read on code hosts too.
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist"]
myst_heading_anchors = 4

# Public names. Parameters are explained by the docstrings, so signatures are plain.
autosummary_generate = True
autodoc_typehints = "none"
autodoc_default_options = {"members": False}
numpydoc_show_class_members = False
numpydoc_attributes_as_param_list = True
add_module_names = False

# Code is shown as it is to be typed.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp"
pygments_style = "friendly"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/\d\d_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "reset_modules": ("matplotlib",),
    "capture_repr": (),  # what is printed is shown, not the last value
    "show_signature": False,
    "write_computation_times": False,
    # Names of ekss in the code of examples lead to their pages.
    "reference_url": {"ekss": None},
}

html_theme = "pydata_sphinx_theme"
html_title = "ekss"
html_static_path = ["_static"]
html_css_files = ["ekss.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"
html_last_updated_fmt = None
html_theme_options = {
    "logo": {
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
        "text": "ekss",
        "alt_text": "ekss, subspace clustering",
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "friendly",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {"index": []}
html_context = {"default_mode": "auto"}  # light or dark as the reader has it

# What examples import may warn of its own future; what ekss says must be heard.
warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"(?!ekss).*")
