# SPDX-License-Identifier: Apache-2.0
"""The settings of Sphinx: each Markdown file of the repository is a page at its own path, the Javadoc
of all modules is copied beside them, and the search knows its packages, types and members, too."""

import json
import pathlib
import posixpath
import re
import shutil

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform

ROOT = pathlib.Path(__file__).resolve().parent.parent
# folder of the site: the module's folder, and where its packages are in the Javadoc
MODULES = {"api": ("java-api", "io.torchfeed/"), "api-spark": ("java-api/spark", ""), "api-parquet": ("java-api/parquet", "")}
# the last is there if a JDK 21 was found
JAVADOC = {folder: module for folder, module in MODULES.items() if (ROOT / module[0] / "target/reports/apidocs/index.html").is_file()}
MENU = {
    "Using it": "java-api/README",
    "From PyTorch": "java-api/FROM_PYTORCH",
    "Distributed": "java-api/DISTRIBUTED",
    "When a rank dies": "java-api/WHEN_A_RANK_DIES",
    "Spark": "java-api/spark/README",
    "Parquet": "java-api/parquet/README",
    "Licences": "java-api/LICENCES",
    "First programs": "examples/first/README",
    "Benchmarks": "examples/benchmarks/README",
    "The C++ half": "native/README",
    "Contributing": ".github/CONTRIBUTING",
    "Changes": "java-api/CHANGELOG",
}
CLASS = re.compile(r"((?:[a-z]\w*\.)*[A-Z]\w*)(?:#\w+)?")
SOURCE = re.compile(r"(java-api(?:/spark|/parquet)?)/src/main/java/(.*)\.java")

project = "torchfeed"
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "**/*.md"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["**/target", "**/build", "**/site-packages", "**/src/test", ".git", ".site"]
html_theme = "furo"
html_title = "torchfeed"
html_copy_source = False
html_use_index = False
html_show_copyright = False
myst_enable_extensions = ["html_image"]
myst_heading_anchors = 6
suppress_warnings = ["toc.not_included", "myst.header"]


def with_menu(_app, name, source):
    if name == root_doc:
        pages = "\n".join(f"{title} <{page}>" for title, page in MENU.items())
        javadoc = ", ".join(f'<a href="{folder}/index.html">{folder.replace("api", "torchfeed")}</a>' for folder in JAVADOC)
        source[0] = f"{source[0].rstrip()}\n\n<p>Javadoc: {javadoc}</p>\n\n```{{toctree}}\n:hidden:\n\n{pages}\n```\n"


def javadoc_of(path):
    """The page of a source file of the API, relative to the site."""
    found = SOURCE.fullmatch(path)
    for folder, (module, packages) in JAVADOC.items():
        if found and found[1] == module:
            page = packages + found[2].replace("package-info", "package-summary") + ".html"
            if (ROOT / module / "target/reports/apidocs" / page).is_file():
                return f"{folder}/{page}"
    return None


class LinksToJavadoc(SphinxPostTransform):
    """Links of source files of the API, and names of its classes, lead to the Javadoc."""

    default_priority = 1

    def run(self):
        folder = posixpath.dirname(self.env.docname)
        for link in list(self.document.findall(addnodes.download_reference)):
            page = javadoc_of(posixpath.normpath(posixpath.join(folder, link["reftarget"])))
            if page:
                target = nodes.reference("", "", *link.children, internal=False, refuri=posixpath.relpath(page, folder or "."))
                link.replace_self(target)
        for code in list(self.document.findall(nodes.literal)):
            found = CLASS.fullmatch(code.astext())
            if not found or "." not in found[1] or isinstance(code.parent, (nodes.reference, nodes.title)):
                continue
            path = found[1].removeprefix("io.torchfeed.").replace(".", "/")
            for module, _ in JAVADOC.values():
                page = javadoc_of(f"{module}/src/main/java/io/torchfeed/{path}.java")
                if page:
                    link = nodes.reference("", "", code.deepcopy(), internal=False, refuri=posixpath.relpath(page, folder or "."))
                    code.replace_self(link)
                    break


def entries(folder, packages):
    """The packages, types and members of a Javadoc: page, title of the page, package, name, anchor."""
    def index(kind):
        text = (folder / f"{kind}-search-index.js").read_text()
        return json.loads(text[text.index("["):text.rindex("]") + 1])

    for entry in index("package"):
        if entry["l"].startswith("io."):
            page = packages + entry["l"].replace(".", "/") + "/package-summary"
            yield "package", page, entry["l"], "", entry["l"], "package-description"
    for entry in index("type") + index("member"):
        if "p" in entry:
            kind, name = ("member", entry["c"]) if "c" in entry else ("type", entry["l"])
            page = packages + entry["p"].replace(".", "/") + "/" + name
            member = "." + entry["l"].split("(")[0] if kind == "member" else ""
            anchor = entry.get("u", entry["l"]) if member else "class-description"
            yield kind, page, f"{entry['p']}.{name}", entry["p"], name + member, anchor


def add_javadoc(app, failure):
    """Copies the Javadoc, and adds it to the index that Sphinx's search reads."""
    if failure or app.builder.name != "html":
        return
    out = pathlib.Path(app.outdir)
    shutil.copy(out / "README.html", out / "index.html")
    file = out / "searchindex.js"
    start, index = "Search.setIndex(", file.read_text()
    search = json.loads(index[len(start):-1])
    kinds = {"package": str(len(search["objtypes"]))}
    kinds |= {kind: str(int(kinds["package"]) + i) for i, kind in enumerate(("type", "member"), 1)}
    for kind, number in kinds.items():
        search["objtypes"][number] = f"java:{kind}"
        search["objnames"][number] = ["java", kind, f"Java {kind}"]
    documents = {name: number for number, name in enumerate(search["docnames"])}
    for folder, (module, packages) in JAVADOC.items():
        javadoc = ROOT / module / "target/reports/apidocs"
        shutil.rmtree(out / folder, ignore_errors=True)
        shutil.copytree(javadoc, out / folder)
        for kind, page, title, package, name, anchor in entries(javadoc, f"{folder}/{packages}"):
            if page not in documents:
                documents[page] = len(documents)
                search["docnames"].append(page)
                search["filenames"].append(page)
                search["titles"].append(title)
            search["objects"].setdefault(package, []).append([documents[page], int(kinds[kind]), 1, anchor, name])
    file.write_text(start + json.dumps(search, separators=(",", ":")) + ")")


def setup(app):
    app.add_lexer("mermaid", TextLexer)
    app.connect("source-read", with_menu)
    app.add_post_transform(LinksToJavadoc)
    app.connect("build-finished", add_javadoc)
