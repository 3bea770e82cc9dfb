"""The site: `python -m sphinx -W -n docs site` builds it without a network, and runs every example."""

import os
import re
import sys
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent / "reference"))
import families

from genperf import __version__

# Examples run the genperf of this Python, and print no colours.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
os.environ.update({"NO_COLOR": "1", "COLUMNS": "120"})

project = "genperf"
author = "The genperf developers"
copyright = "The genperf developers"
release = version = __version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinxcontrib.programoutput",
]
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
programoutput_prompt_template = "$ {command}\n{output}"
copybutton_prompt_text = "$ "
# A dash of an option is copied as it is typed: two hyphens are no dash.
smartquotes = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
html_theme = "furo"
html_title = "genperf"
html_static_path = ["_static"]
html_css_files = ["site.css"]


#: Pages outside the site's folder → the page that shows them.
ELSEWHERE = {"data/README.md": "reference/bundled-tables.md", "README.md": "index.md"}


def link_inside(app: Sphinx, name: str, content: list[str]) -> None:
    """Let links to files beside the site's folder lead to the pages that show them."""
    up = "../" * name.count("/")
    for file, page in ELSEWHERE.items():
        content[0] = content[0].replace(f"]({up}../{file}", f"]({up}{page}")
    # Pages of the laboratory are no pages of the site: their link becomes the file's name.
    content[0] = re.sub(r"\[([^\]]+)\]\((?:\.\./)+(experiments/[^)#]+)[^)]*\)", r"\1 (`\2`)", content[0])


def escape_stars(app: Sphinx, context: object, lines: list[str]) -> None:
    """Keep the stars of a command's help, which begin no emphasis."""
    lines[:] = [line.replace("*", r"\*") for line in lines]


def setup(app: Sphinx) -> None:
    """Write the pages of the families, show CSV as text, and mend what is written for other readers."""
    app.add_lexer("csv", TextLexer)
    app.connect("source-read", link_inside)
    for part in ("description", "options", "arguments", "epilog"):
        app.connect(f"sphinx-click-process-{part}", escape_stars)
    reference = Path(__file__).parent / "reference"
    families.write(reference / "families")
    for file, page in (("data/README.md", "bundled-tables"), ("data/published/README.md", "published-series")):
        text = (reference.parents[1] / file).read_text(encoding="utf-8")
        text = text.replace("](../docs/", "](../").replace("](published/README.md", "](published-series.md")
        families.write_page(reference / f"{page}.md", text)
