"""config/README.md names each file of the folder."""

import re
import subprocess

from stp.plan.checked_config import CONFIG_FOLDER

PAGE = (CONFIG_FOLDER / "README.md").read_text()


def test_the_page_names_each_file_and_folder():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=CONFIG_FOLDER,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    there = {f"{top}/" if rest else top for top, _, rest in (n.partition("/") for n in listed)}
    files = PAGE.partition("## Keys")[0]
    rows = "".join(re.findall(r"^\| (`.*?) \|", files, re.M))
    assert set(re.findall(r"`([^`]+)`", rows)) == there - {"README.md"}
