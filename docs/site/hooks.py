"""What mkdocs builds beside the pages of docs/: the README as the start page, the changelog and its like, the
reference of the public names, the notebooks, and a page for every source file that another page links to.
"""

import json
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import tfnmt
import tfnmt.layers

ROOT = Path(__file__).parents[2]
PROJECT_PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "LICENSE": "licence.md",
}
LINK = re.compile(r"""(\]\(|src=")([^)"#\s]+)((?:#[^)]*)?[)"])""")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here."""
    pages = {page: (ROOT / name).read_text(encoding="utf-8") for name, page in PROJECT_PAGES.items()}
    pages["licence.md"] = f"# Licence\n\n```\n{pages['licence.md']}```\n"
    pages["reference/tfnmt.md"] = reference("tfnmt", tfnmt._HOMES, "")
    pages["reference/layers.md"] = reference("tfnmt.layers", tfnmt.layers._HOMES, "tfnmt.layers.")
    for path in sorted(ROOT.glob("notebooks/*.ipynb")):
        pages[notebook_page(path)] = notebook_markdown(path)
    texts = {file.src_uri: (ROOT / "docs" / file.src_uri) for file in files.documentation_pages()}
    written = pages | {uri: path.read_text(encoding="utf-8") for uri, path in texts.items() if path.exists()}
    for uri, text in written.items():
        for _, target, _ in LINK.findall(text):
            if source := source_file(uri, target):
                code = source.read_text(encoding="utf-8")
                pages[code_page(source)] = f"# {source.name}\n\n````{language(source)}\n{code}````\n"
    for uri, text in pages.items():
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links that are right in the repository into links that are right in the site."""
    uri = page.file.src_uri

    def linked(match: re.Match) -> str:
        before, target, after = match.groups()
        goal = site_page(uri, target)
        return match[0] if goal is None else f"{before}{posixpath.relpath(goal, posixpath.dirname(uri))}{after}"

    return LINK.sub(linked, markdown)


def site_page(uri: str, target: str) -> str | None:
    """The page of the site for what a page links to; None for what may stay as it is."""
    path = repository_path(uri, target)
    if path is None or not path.exists():
        return None
    name = path.relative_to(ROOT).as_posix()
    if name in PROJECT_PAGES:
        return PROJECT_PAGES[name]
    if name.startswith("docs/"):
        return name.removeprefix("docs/")
    if path.suffix == ".ipynb":
        return notebook_page(path)
    return code_page(path) if path.is_file() else "architecture.md"


def source_file(uri: str, target: str) -> Path | None:
    """The file of the repository outside docs/ that a page links to, if it does."""
    page = site_page(uri, target)
    return repository_path(uri, target) if page and page.startswith("code/") else None


def repository_path(uri: str, target: str) -> Path | None:
    """Where in the repository a link leads."""
    if re.match(r"[a-z]+:", target) or uri.startswith("code/"):
        return None
    origin = uri if uri.startswith("notebooks/") else f"docs/{uri}"
    origin = next((name for name, page in PROJECT_PAGES.items() if page == uri), origin)
    path = (ROOT / origin).parent.joinpath(target).resolve()
    return path if path.is_relative_to(ROOT) else None


def code_page(path: Path) -> str:
    """The page of a source file."""
    return f"code/{path.relative_to(ROOT).as_posix()}.md"


def notebook_page(path: Path) -> str:
    """The page of a notebook."""
    return f"notebooks/{path.stem}.md"


def notebook_markdown(path: Path) -> str:
    """A notebook with its outputs as Markdown."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"````python\n{source}\n````")
        for output in cell["outputs"]:
            data = output.get("data", {"text/plain": output.get("text", [])})
            if "image/png" in data:
                parts.append(f'<img alt="What the code above draws" src="data:image/png;base64,{data["image/png"]}">')
            else:
                parts.append(f"````text\n{''.join(data['text/plain']).rstrip()}\n````")
    name = path.relative_to(ROOT)
    title, _, rest = "\n\n".join(parts).partition("\n")
    return f"{title}\n\nThis page is the notebook `{name}`, with its outputs.\n{rest}\n"


def language(path: Path) -> str:
    """The name by which code is coloured."""
    return {".py": "python", ".toml": "toml", ".yaml": "yaml", ".sh": "bash"}.get(path.suffix, "")


def reference(title: str, homes: dict[str, str], package: str) -> str:
    """A page with the docstrings of public names; `homes` has the module of each."""
    names = [f"::: {package}{module}.{name}\n" for name, module in sorted(homes.items())]
    return f"# {title}\n\n" + "\n".join(names)
