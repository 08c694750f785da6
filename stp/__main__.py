"""``stp`` and ``python -m stp``, in this process or in a child of the job server of a run."""

import sys

from stp.job_client import hand_over_job


def main() -> None:
    """Run the command line, in the job server of the run if there is one."""
    status = hand_over_job()
    if status is not None:
        sys.exit(status)
    from stp.core import exit_codes
    from stp.core.errors import StpError

    try:
        from stp import cli
    except StpError as error:  # the project around this folder belongs to another user
        print(exit_codes.message_of(error), file=sys.stderr)
        sys.exit(exit_codes.exit_code_of(error))
    cli.main()


if __name__ == "__main__":
    main()
