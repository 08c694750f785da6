"""Write constraints.txt from pyproject.toml, and envs/stp.yaml from constraints.txt.

Run it after a change of dependencies: ``python envs/update.py`` (needs uv for the first step;
``--environment-only`` does the second).
"""

import argparse
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
HEADER = """\
# The environment of constraints.txt for `snakemake --software-deployment-method conda`.
# Not needed for a plain run. Written by envs/update.py.
name: stp
channels: [conda-forge]
dependencies:
  - python=3.11
  - pip
  - pip:
"""


def environment(constraints: str) -> str:
    """Render the conda environment from the text of the constraints file."""
    pins = [line for line in constraints.splitlines() if line and not line.startswith("#")]
    return HEADER + "".join(f'      - "{pin.replace(chr(34), chr(39))}"\n' for pin in pins)


def main() -> None:
    """Update both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environment-only", action="store_true")
    constraints = ROOT / "constraints.txt"
    if not parser.parse_args().environment_only:
        subprocess.run(
            ["uv", "pip", "compile", "--universal", "--python-version", "3.11", "--all-extras",
             "--no-annotate", "--no-header", "pyproject.toml", "-o", "constraints.txt"],
            cwd=ROOT,
            check=True,
        )  # fmt: skip
    (ROOT / "envs" / "stp.yaml").write_text(environment(constraints.read_text()))


if __name__ == "__main__":
    main()
