"""What pyproject.toml cannot say: a wheel carries the project, which `stp init` copies."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

CARRIED = ("config", "envs", "profiles", "workflow")
OF_ONE_PLACE = shutil.ignore_patterns("site.yaml", "__pycache__")


class WithProject(build_py):
    """Copies configuration, profiles and workflow into the package that is built."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:  # a checkout has them beside the package
            return
        project = Path(self.build_lib, "stp", "project")
        for folder in CARRIED:
            shutil.copytree(folder, project / folder, ignore=OF_ONE_PLACE, dirs_exist_ok=True)
        shutil.copy("constraints.txt", project)


setup(cmdclass={"build_py": WithProject})
