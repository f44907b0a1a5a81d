"""The files of docs/shards/, which people copy: the one for a shell plays a run, and the others do what it does."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml
from built_warehouse import begin_built
from command_line import debatebench
from paths import REPOSITORY
from preloaded import write_command

pytestmark = pytest.mark.slow

FILES = REPOSITORY / "docs" / "shards"


@pytest.fixture
def planned(tmp_path: Path) -> Path:
    begin_built(tmp_path)
    plan = tmp_path / "june.plan"
    line = ("run", "--run-tag", "june", "--quick-test", "--dry-run", "--plan-output", str(plan))
    assert debatebench(tmp_path, *line).code == 0
    return tmp_path


@pytest.fixture
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which `debatebench` is a command."""
    folder = write_command(tmp_path_factory.mktemp("bin")).parent
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def test_the_shell_file_plays_all_shards_and_lands_the_run(planned: Path, environment: dict[str, str]) -> None:
    command = ["sh", str(FILES / "shards.sh"), "june.plan", "2"]
    for landed in ("june: landed 2 debates", "june: unchanged since it was landed"):
        done = subprocess.run(command, cwd=planned, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert landed in done.stderr
    assert sorted(path.name for path in (planned / "warehouse" / "journal" / "june.shards").glob("[!.]*")) == [
        "1-of-2.jsonl",
        "2-of-2.jsonl",
        "plan.jsonl",
    ]
    wrong = subprocess.run([*command, "--seed", "3"], cwd=planned, env=environment, capture_output=True, text=True)
    assert wrong.returncode == 2
    assert "--seed changes a plan" in (planned / "warehouse" / "shards" / "1.log").read_text()


def test_a_task_of_slurm_plays_the_shard_of_its_number(planned: Path, environment: dict[str, str]) -> None:
    text = (FILES / "slurm.sbatch").read_text(encoding="utf-8")
    assert "#SBATCH --array=1-8\n" in text
    numbers = {"PLAN": "june.plan", "SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_MAX": "2"}
    task = ["bash", str(FILES / "slurm.sbatch")]
    done = subprocess.run(task, cwd=planned, env={**environment, **numbers}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Shard 2/2 of run 'june': 1 of 2 debates" in done.stderr


def test_a_pod_of_kubernetes_plays_the_shard_of_its_index(planned: Path, environment: dict[str, str]) -> None:
    job = yaml.safe_load((FILES / "kubernetes.yaml").read_text(encoding="utf-8"))
    assert job["spec"]["completionMode"] == "Indexed"
    (container,) = job["spec"]["template"]["spec"]["containers"]
    *shell, line = container["command"]
    assert f"))/{job['spec']['completions']} " in line
    line = line.replace(f"))/{job['spec']['completions']} ", "))/2 ")
    index = {"JOB_COMPLETION_INDEX": "0"}
    done = subprocess.run([*shell, line], cwd=planned, env={**environment, **index}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Shard 1/2 of run 'june': 1 of 2 debates" in done.stderr
