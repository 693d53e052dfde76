"""Sphinx configuration; built with warnings as errors by `make docs`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from cykafka import __version__

project = "cykafka"
author = "the cykafka authors"
copyright = "2026, the cykafka authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "configuration"]
myst_enable_extensions = ["deflist"]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
html_theme = "furo"
html_title = f"cykafka {release}"
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
# Sphinx would take `type` in an annotation for any attribute of that name.
napoleon_attr_annotations = False
myst_heading_anchors = 3
