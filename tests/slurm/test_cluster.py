"""The test cluster leaves alone what it has not started. No Slurm is needed for this."""

import os
import subprocess
import sys
from pathlib import Path

import cluster as module
import pytest
from cluster import MARK, Cluster, NoClusterError


@pytest.fixture
def configuration(tmp_path, monkeypatch) -> Path:
    """A folder that stands for /etc/slurm."""
    monkeypatch.setattr(module, "CONFIG", tmp_path / "etc")
    return tmp_path / "etc"


def claimed(folder: Path) -> Cluster:
    """A cluster that has linked its configuration, and started nothing."""
    folder.mkdir()
    (folder / MARK).touch()
    made = Cluster(folder)
    made._claim_configuration()
    made._write_configuration()
    return made


def test_the_configuration_is_linked_and_unlinked_again(configuration, tmp_path):
    made = claimed(tmp_path / "one")
    assert (configuration / "slurm.conf").resolve() == tmp_path / "one" / "slurm.conf"
    text = (configuration / "slurm.conf").read_text()
    assert "Gres=gpu:small:1,gpu:large:1" in text and "cred_expire=5" in text
    made.stop()
    assert list(configuration.iterdir()) == []


def test_a_real_slurm_is_left_alone(configuration, tmp_path):
    configuration.mkdir()
    (configuration / "slurm.conf").write_text("ClusterName=real\n")
    with pytest.raises(NoClusterError, match="has a Slurm already"):
        claimed(tmp_path / "one")
    assert (configuration / "slurm.conf").read_text() == "ClusterName=real\n"


def test_a_link_to_a_real_configuration_is_left_alone(configuration, tmp_path):
    configuration.mkdir()
    (tmp_path / "real.conf").write_text("ClusterName=real\n")
    (configuration / "slurm.conf").symlink_to(tmp_path / "real.conf")
    with pytest.raises(NoClusterError, match="has a Slurm already"):
        claimed(tmp_path / "one")
    assert (configuration / "slurm.conf").resolve() == tmp_path / "real.conf"


def test_a_cluster_whose_daemons_are_gone_is_replaced(configuration, tmp_path):
    claimed(tmp_path / "dead")
    claimed(tmp_path / "next")
    assert (configuration / "slurm.conf").resolve() == tmp_path / "next" / "slurm.conf"


def test_a_running_test_cluster_is_not_replaced(configuration, tmp_path):
    first = claimed(tmp_path / "first")
    # A program by the name of a daemon that works in this folder, as the daemon would.
    daemon = tmp_path / "slurmctld"
    daemon.symlink_to(sys.executable)
    sleep = "import time; time.sleep(60)"
    with subprocess.Popen([daemon, "-c", sleep, first.folder / "slurm.conf"]) as process:
        (first.folder / "slurmctld.pid").write_text(str(process.pid))
        with pytest.raises(NoClusterError, match="a test cluster runs already"):
            claimed(tmp_path / "second")
        first.end("slurmctld")
        assert process.wait() == -15


def test_a_number_in_a_pid_file_is_not_enough_to_be_ended(tmp_path):
    """The process that has the number now may be anybody's."""
    (tmp_path / "slurmd.pid").write_text(str(os.getpid()))
    made = Cluster(tmp_path)
    assert made.pid("slurmd") is None
    made.end("slurmd")  # we are still here
