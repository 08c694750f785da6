"""A job for a reader, made from a folder of small raw files."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from reader_jobs import job_in

from stp.core.job import Job


@pytest.fixture
def make_job(tmp_path: Path) -> Callable[..., Job]:
    """``make_job(reader, shape, options, ...)``, see `job_in`."""
    return partial(job_in, tmp_path)
