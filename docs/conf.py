"""How Sphinx builds the site: offline, without scripts from elsewhere, every warning an error (``make docs``)."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import margin  # noqa: E402

project = "Margin"
author = "The Margin developers"
version = release = margin.__version__
extensions = ["myst_parser", "docs.generators.mathml", "docs.generators.motion"]
html_math_renderer = "mathml"
exclude_patterns = ["_build", "generators", "gallery/images", "**/README.md"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
add_module_names = False
toc_object_entries = False
nitpicky = False
rst_prolog = """
.. role:: holds
   :class: verdict holds
.. role:: corrected
   :class: verdict corrected
"""
# Long tables of measurements and changes are read, not searched; links from generated Markdown lead to the repository.
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]

templates_path: list[str] = []
html_theme = "pydata_sphinx_theme"
html_title = "Margin"
# The lab's font for equations: in it delimiters and roots stretch.
html_static_path = ["_static", "../src/margin/lab/static/vendor/stix-two-math.woff2"]
html_css_files = ["site.css"]
html_js_files = [("gallery.js", {"defer": "defer"})]
html_search_scorer = str(Path(__file__).parent / "_static" / "search_order.js")
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_last_updated_fmt = None
# Without it the theme complains in the console that it was told no mode.
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "Margin"},
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_depth": 2,
    "show_toc_level": 1,
    # Of the styles that the theme knows, those whose colors are all dark (or light) enough to be read.
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "start": [], "about": [], "measured/index": [], "gallery/*": [], "changes": []}
copyright = "The Margin developers, BSD-3-Clause"
