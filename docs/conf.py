"""How Sphinx makes the site; ``docs/build.py`` calls it, once a language."""

import os

import minuend

project = "minuend"
author = "the minuend developers"
copyright = author  # noqa: A001 (Sphinx names it so)
version = release = minuend.__version__

language = os.environ.get("MINUEND_SITE_LANGUAGE", "en")
locale_dirs = [os.environ.get("MINUEND_SITE_LOCALES", "../src/minuend/locale"), "locale"]  # the second is the theme's
gettext_compact = "minuend"  # one catalogue, which the command line reads too
gettext_auto_build = False  # minuend.mo is made by build.py, and committed
gettext_uuid = False

extensions = [
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sitepages.extension",
]
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3
copybutton_prompt_text = r"\$ |>>> |\.\.\. "  # what stands behind a prompt is copied, and no output
copybutton_prompt_is_regexp = True
suppress_warnings = ["misc.highlighting_failure"]
exclude_patterns = ["_build", "_extra", "_templates"]
templates_path = ["_templates"]

autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_use_ivar = True  # else a field stands twice: in the docstring and as a member

html_search_language = language
html_theme = "furo"
html_title = "minuend"
html_favicon = "_static/icon.svg"
html_static_path = ["_static"]
html_extra_path = ["_extra"]  # matrix.json
html_css_files = ["site.css", "matrix.css"]
html_js_files = ["matrix.js", "copying.js"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "languages.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_context = {"site_languages": [("en", "English"), ("zh_TW", "繁體中文")]}
