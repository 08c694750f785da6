"""Entry point of ``stp`` and ``python -m stp``.

During a local run, a job server (`stp.job_server`) may run the command in a child process instead.
"""

import sys

from stp.job_client import hand_over_job


def main() -> None:
    """Run the command line, ``stp VERB ...``, and exit with its status.

    In a local run, the job server (`stp.job_server`) runs the command. Without a server, or if the
    server refuses, the command runs in this process.
    """
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
