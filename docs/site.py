"""What the site has besides the files of docs/: pages from elsewhere, and those of the code.

MkDocs calls the functions (`hooks` in mkdocs.yml).
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
FROM_ELSEWHERE = {
    "config/README.md": "config/index.md",
    "benchmarks/README.md": "benchmarks/index.md",
}
"""Files of the repository -> pages."""
API = {
    "api/metrics.md": ("Metrics", "stp/metrics"),
    "api/models.md": ("Models", "stp/models"),
    "api/predictors.md": ("Models of people", "stp/tracks/predictors"),
    "api/readers.md": ("Readers", "stp/prepare"),
}
"""Pages -> their title, and the folder of the modules that they document."""
LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)\s]*)?\))")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages from elsewhere and those of the code, and other files that pages link to."""
    pages = [*FROM_ELSEWHERE, *(f"docs/{page.src_uri}" for page in files.documentation_pages())]
    for name in sorted({target for page in pages for target in _targets(page)}):
        is_new = name not in FROM_ELSEWHERE and not name.startswith("docs/")
        if is_new and (ROOT / name).is_file():
            files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    for source, page in FROM_ELSEWHERE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    front_door = "# In Python\n\n::: stp\n"
    files.append(File.generated(config, "api/stp.md", content=front_door))
    for page, (title, folder) in API.items():
        modules = sorted(path.stem for path in (ROOT / folder).glob("[a-z]*.py"))
        named = [f"::: {folder.replace('/', '.')}.{module}\n" for module in modules]
        text = "\n".join([f"# {title}\n", *named])
        files.append(File.generated(config, page, content=text))
    return files


def _targets(page: str) -> set[str]:
    """Files of the repository that a page links to, by their paths."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return {_from_root(page, found[2]) for found in LINK.finditer(text)}


def _from_root(page: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), target))


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Have links lead to pages, where the repository has files."""
    here = page.file.src_uri
    pages = {page: source for source, page in FROM_ELSEWHERE.items()}
    source = pages.get(here, f"docs/{here}")

    def led(found: re.Match[str]) -> str:
        target = _from_root(source, found[2])
        to = FROM_ELSEWHERE.get(target, target.removeprefix("docs/"))
        return f"{found[1]}{posixpath.relpath(to, posixpath.dirname(here) or '.')}{found[3]}"

    return LINK.sub(led, markdown)
