"""A real Slurm on one machine: munged, slurmctld and slurmd, without systemd, cgroups, database.

The node claims more CPUs and memory than the machine has, so that jobs run side by side, and two
GPUs that are not there. ``python tests/slurm/cluster.py start`` starts one to play with,
``stop`` stops it.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PACKAGES = ("slurm-wlm", "munge")
COMMANDS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "scancel")
CONFIG = Path("/etc/slurm")
"""Slurm's programs look here for their configuration. A file elsewhere, named by SLURM_CONF, does
not reach the jobs: Snakemake takes that variable away before it starts their last process."""
FILES = ("slurm.conf", "gres.conf")
MARK = "started-by-stp-tests"

SLURM_CONF = """\
ClusterName=stp
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
# A job that is requeued waits until its old credential has expired: 2 minutes by default.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmctldPort={controller_port}
SlurmdPort={node_port}
StateSaveLocation={folder}/controller
SlurmdSpoolDir={folder}/node
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
MpiDefault=none
MailProg=/bin/true
TaskProlog={folder}/task-prolog
# Nothing but the controller remembers a job that has ended.
AccountingStorageType=accounting_storage/none
MinJobAge=36000
# Memory limits without cgroups: jobs are looked at every two seconds.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=2
JobAcctGatherParams=OverMemoryKill,UsePss
ReturnToService=2
SlurmctldTimeout=60
SlurmdTimeout=60
MessageTimeout=5
KillWait=5
JobRequeue=1
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory_mb} Gres={gres} State=UNKNOWN
PartitionName=DEFAULT Nodes={host} State=UP OverSubscribe=NO DefMemPerCPU=500 GraceTime=20
PartitionName=cpu PriorityTier=1 MaxTime=1-00:00:00 Default=YES
PartitionName=gpu PriorityTier=1 MaxTime=1-00:00:00
PartitionName=short PriorityTier=1 MaxTime=2
PartitionName=urgent PriorityTier=9 MaxTime=1-00:00:00 PreemptMode=OFF
"""

TASK_PROLOG = """\
#!/bin/sh
# Runs in the environment of every task; keeps what the tests want to know about it.
echo "$SLURM_JOB_ID ${{CUDA_VISIBLE_DEVICES:-none}}" >> {folder}/tasks.log
"""


class NoClusterError(Exception):
    """This machine cannot run a Slurm of its own; says why, and what to do."""


def why_not() -> str | None:
    """Why no cluster can be started here, or None if it can."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    missing = [command for command in COMMANDS if shutil.which(command, path=path) is None]
    if os.geteuid() != 0:
        return "only root can start munged, slurmctld and slurmd: run as root, as in a container"
    if missing:
        return f"{', '.join(missing)} not found: apt-get install {' '.join(PACKAGES)}"
    if not os.access(CONFIG if CONFIG.is_dir() else CONFIG.parent, os.W_OK):
        return f"{CONFIG} cannot be written"
    return None


class Cluster:
    """One node, its controller, and its authentication; all state in one folder.

    Args:
        folder: of configuration, state and logs; made if it does not exist.
        gpus: number of GPUs of each type; none of them exists.
        cpus: that the node claims to have.
        memory_mb: that the node claims to have.
    """

    def __init__(
        self,
        folder: Path,
        gpus: dict[str, int] | None = None,
        cpus: int = 16,
        memory_mb: int = 64000,
    ) -> None:
        self.folder = folder
        self.host = socket.gethostname().partition(".")[0]
        self.gpus = gpus or {"small": 1, "large": 1}
        self.cpus, self.memory_mb = cpus, memory_mb

    def __enter__(self) -> "Cluster":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    # Life

    def start(self) -> None:
        """Start the three daemons and wait until the node is idle.

        Raises:
            NoClusterError: something is missing, or another Slurm is configured here.
        """
        if reason := why_not():
            raise NoClusterError(reason)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)
        (self.folder / MARK).touch()
        self._claim_configuration()
        self._write_configuration()
        # Slurm's own pid files must be there before anyone can stop the daemons again.
        self._daemon("munged", *self._munge_options())
        self.start_controller()
        self._daemon("slurmd", "-N", self.host, "-f", str(self.folder / "slurm.conf"))
        self.wait(lambda: self.node_state().startswith("IDLE"), "the node does not become idle")

    def stop(self) -> None:
        """Cancel all jobs, and stop the daemons that were started in this folder."""
        if self.pid("slurmctld"):
            subprocess.run(["scancel", "--user", "root"], env=self.environment, capture_output=True)
            try:
                self.wait(lambda: not self.jobs("RUNNING", "COMPLETING"), "", 30)
            except AssertionError:
                print("some Slurm jobs did not end", file=sys.stderr)
        for name in ("slurmd", "slurmctld", "munged"):
            self.end(name)
        for name in FILES:
            if (CONFIG / name).is_symlink() and (CONFIG / name).readlink() == self.folder / name:
                (CONFIG / name).unlink()

    def start_controller(self) -> None:
        """Start slurmctld, from the state that an earlier one has saved."""
        self._daemon("slurmctld", "-f", str(self.folder / "slurm.conf"))
        self.wait(lambda: "UP" in self.ask("scontrol", "ping"), "slurmctld does not answer")

    def stop_controller(self) -> None:
        """Stop slurmctld; running jobs go on."""
        self.end("slurmctld")

    def drain(self) -> None:
        """Let the node start no more jobs; running ones go on."""
        self.ask("scontrol", "update", f"NodeName={self.host}", "State=DRAIN", "Reason=test")

    def resume(self) -> None:
        """Let the node start jobs again."""
        self.ask("scontrol", "update", f"NodeName={self.host}", "State=RESUME")

    def pid(self, name: str) -> int | None:
        """The process of a daemon that was started in this folder, if it is that daemon still."""
        try:
            pid = int((self.folder / f"{name}.pid").read_text())
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            return None
        ours = any(str(self.folder).encode() in word for word in command)
        return pid if ours and Path(os.fsdecode(command[0])).name == name else None

    def end(self, name: str) -> None:
        """End a daemon, the hard way if it does not listen."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            pid = self.pid(name)
            if pid is None:
                return
            os.kill(pid, number)
            deadline = time.monotonic() + 15
            while self.pid(name) == pid and time.monotonic() < deadline:
                time.sleep(0.1)

    # Questions

    @property
    def environment(self) -> dict[str, str]:
        """For commands that must talk to this cluster and no other."""
        return {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def ask(self, *command: str) -> str:
        """Run a command of Slurm; its output, errors included."""
        return subprocess.run(
            command,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ).stdout

    def jobs(self, *states: str) -> dict[str, dict[str, str]]:
        """What the controller knows about jobs, by job id: JobState, Comment, BatchHost, ...

        Args:
            states: only jobs in one of these; all jobs without.
        """
        found = {}
        for line in self.ask("scontrol", "show", "job", "--oneliner").splitlines():
            job = dict(re.findall(r"(?:^|\s)(\w[\w:/]*)=(\S*)", line))
            if "JobId" in job and (not states or job["JobState"] in states):
                found[job["JobId"]] = job
        return found

    def node_state(self) -> str:
        """The state of the node, such as IDLE, MIXED or IDLE+DRAIN."""
        found = re.search(r"State=(\S+)", self.ask("scontrol", "show", "node", self.host))
        return found[1] if found else ""

    def visible_gpus(self) -> dict[str, set[str]]:
        """What CUDA_VISIBLE_DEVICES was in the tasks of each job; "none" where it was not set."""
        seen: dict[str, set[str]] = {}
        path = self.folder / "tasks.log"
        for line in path.read_text().splitlines() if path.exists() else []:
            job, devices = line.split()
            seen.setdefault(job, set()).add(devices)
        return seen

    def wait(self, true: Callable[[], object], complaint: str, seconds: float = 60) -> None:
        """Wait until something is true.

        Raises:
            AssertionError: with the complaint, if it does not become true.
        """
        deadline = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < deadline, f"{complaint} (logs: {self.folder})"
            time.sleep(0.2)

    # How it is made

    def _daemon(self, *command: str) -> None:
        """Start a daemon; it goes to the background by itself when it is ready."""
        done = subprocess.run(
            command,
            env={**self.environment, "PATH": f"{os.environ['PATH']}:/usr/sbin"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, f"{command[0]} does not start: {done.stdout}"
        self.wait(lambda: self.pid(command[0]), f"{command[0]} does not stay")

    def _munge_options(self) -> list[str]:
        key = self.folder / "munge.key"
        if not key.exists():
            key.write_bytes(os.urandom(1024))
            key.chmod(0o600)
        # It dislikes folders below /tmp; nobody but root can write into ours.
        return ["--force", f"--key-file={key}", f"--socket={self.folder}/munge.socket"] + [
            f"--{name}-file={self.folder}/munged.{name}" for name in ("pid", "log", "seed")
        ]

    def _claim_configuration(self) -> None:
        """Link our files into /etc/slurm; nothing that is there is replaced.

        A link is made or refused in one step, so two clusters cannot both believe they have it.
        """
        CONFIG.mkdir(exist_ok=True)
        for name in FILES:
            link = CONFIG / name
            if link.is_symlink():
                owner = link.readlink().parent
                if not (owner / MARK).exists() and link.exists():
                    raise NoClusterError(f"{link} is there: this machine has a Slurm already")
                if any(Cluster(owner).pid(daemon) for daemon in ("slurmctld", "slurmd", "munged")):
                    raise NoClusterError(
                        f"a test cluster runs already, in {owner}: "
                        f"wait for it, or stop it with `python {Path(__file__)} stop`"
                    )
                link.unlink()  # of a cluster that is gone
            try:
                link.symlink_to(self.folder / name)
            except FileExistsError:
                raise NoClusterError(f"{link} is there: this machine has a Slurm already") from None

    def _write_configuration(self) -> None:
        for name in ("controller", "node", "gpus"):
            (self.folder / name).mkdir(exist_ok=True)
        devices, gres, lines = 0, [], []
        for kind, number in self.gpus.items():
            gres.append(f"gpu:{kind}:{number}")
            for _ in range(number):
                # A character device is demanded; that of nothing will do.
                device = self.folder / "gpus" / f"gpu{devices}"
                device.symlink_to("/dev/null")
                lines.append(f"NodeName={self.host} Name=gpu Type={kind} File={device}\n")
                devices += 1
        (self.folder / "gres.conf").write_text("".join(lines))
        ports = _free_ports(2)
        text = SLURM_CONF.format(
            host=self.host,
            folder=self.folder,
            controller_port=ports[0],
            node_port=ports[1],
            cpus=self.cpus,
            memory_mb=self.memory_mb,
            gres=",".join(gres),
        )
        (self.folder / "slurm.conf").write_text(text)
        prolog = self.folder / "task-prolog"
        prolog.write_text(TASK_PROLOG.format(folder=self.folder))
        prolog.chmod(0o755)


def _free_ports(number: int) -> list[int]:
    """Ports that nobody uses now."""
    sockets = [socket.socket() for _ in range(number)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def main(word: str) -> None:
    """Start or stop a cluster that outlives this command."""
    link = CONFIG / "slurm.conf"
    if word == "start":
        Cluster(Path(tempfile.mkdtemp(prefix="stp-slurm-"))).start()
        print(f"Slurm runs in {link.readlink().parent}; try `sinfo`")
    elif word == "stop" and link.is_symlink() and (link.readlink().parent / MARK).exists():
        Cluster(link.readlink().parent).stop()
    else:
        sys.exit("start or stop? (there is nothing to stop unless a test cluster runs)")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
