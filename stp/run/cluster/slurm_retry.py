"""Wait for a Slurm controller that is temporarily down (a restart, an upgrade).

Snakemake's Slurm plugin (2.8) has three problems. It asks five times in a row, and then forgets all
jobs that it was watching, so it waits forever. After a missing answer it asks ``sacct``, which
knows nothing on a cluster without accounting. A job that cannot be submitted counts as failed.

No option of a profile solves them: with many ``slurm-status-attempts`` the plugin would not forget
its jobs, but Ctrl-C could not end it while the controller is down; there is no option for the other
two.
"""

import subprocess
import time
from collections.abc import AsyncIterator
from typing import Any

ASK_AGAIN_SECONDS = 10


def wait_for_controller() -> None:
    """Patch Snakemake's Slurm plugin, so that a run survives a Slurm controller that is down.

    The call itself does not wait. It replaces functions of the plugin in this process, which is
    Snakemake: while the controller does not answer, submissions wait until it does, and running
    jobs are kept and checked again later.
    """
    import snakemake_executor_plugin_slurm as plugin

    executor: Any = plugin.Executor
    min_job_age, query = plugin.get_min_job_age, plugin.query_job_status
    check, submit = executor.check_active_jobs, executor.run_job
    answered = {"now": True}

    async def remember_answer(command: str, logger: Any) -> Any:
        answer = await query(command, logger)
        answered["now"] = answer[0] is not None
        return answer

    async def check_or_keep(self: Any, jobs: list[Any]) -> AsyncIterator[Any]:
        answered["now"] = True
        async for job in check(self, jobs):
            yield job
        if not answered["now"]:  # no state of any job is known: all are still watched
            self.logger.warning("Slurm does not answer; its jobs are checked again later.")
            for job in jobs:
                yield job

    def submit_when_it_answers(self: Any, job: Any) -> None:
        while not _is_slurm_up():
            time.sleep(ASK_AGAIN_SECONDS)
        submit(self, job)

    plugin.query_job_status = remember_answer
    plugin.get_min_job_age = lambda: min_job_age() or 10**6
    executor.check_active_jobs = check_or_keep
    executor.run_job = submit_when_it_answers


def _is_slurm_up() -> bool:
    done = subprocess.run(["scontrol", "ping"], capture_output=True, text=True)
    return "UP" in done.stdout
