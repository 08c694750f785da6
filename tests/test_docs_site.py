"""The documentation as a site (`make docs`): links lead somewhere, and code can be searched."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install '.[docs]'")
pytestmark = pytest.mark.long(part="docs")


def build(config: Path, site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--config-file", config, "--site-dir", site],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


def test_the_site_has_every_page_and_every_module_of_the_open_rooms(tmp_path):
    done = build(ROOT / "mkdocs.yml", tmp_path)
    assert done.returncode == 0, done.stderr
    for page in (ROOT / "docs").glob("*.md"):
        folder = tmp_path if page.stem == "index" else tmp_path / page.stem
        assert (folder / "index.html").is_file(), page
    index = json.loads((tmp_path / "search" / "search_index.json").read_text())
    places = {entry["location"] for entry in index["docs"]}
    rooms = {"metrics": "metrics", "models": "models", "readers": "prepare"}
    for page, room in rooms.items():
        for path in (ROOT / "stp" / room).glob("[a-z]*.py"):
            assert f"api/{page}/#stp.{room}.{path.stem}" in places
    # Nothing is loaded from elsewhere when a page is read.
    front = (tmp_path / "index.html").read_text()
    assert "fonts.googleapis.com" not in front and 'script src="http' not in front


@pytest.mark.parametrize("link", ["nowhere.md", "index.md#no-such-heading", "../nowhere.md"])
def test_a_link_that_leads_nowhere_ends_the_build(tmp_path, link):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# A page\n\n[a link]({link})\n")
    config = tmp_path / "mkdocs.yml"
    config.write_text(
        f"INHERIT: {ROOT}/mkdocs.yml\ndocs_dir: docs\nhooks: []\nnav: [index.md]\nplugins: []\n"
    )
    done = build(config, tmp_path / "site")
    assert done.returncode == 1 and link.partition("#")[0].strip("./") in done.stderr, done.stderr
