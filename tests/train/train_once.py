"""Run one training in a process of its own, for tests that kill it.

Arguments: folder of the job, folder of the data, recipe and runtime settings as JSON.
"""

import json
import sys
from pathlib import Path

from moving_bar import job

from stp.train.run import run

folder, data, what, runtime = sys.argv[1:]
run(job(Path(folder), Path(data), json.loads(what), **json.loads(runtime)))
