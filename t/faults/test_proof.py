"""A short run of the proof of durable runs; `make prove` is the long one."""

import os
import subprocess

import pytest

from harness import environment

pytestmark = pytest.mark.leveldb("the proof of one host; make prove-scale is that of several")
_KILLS = "40"
_SEED = "17"


def test_runs_survive_forty_kills(directory):
    done = subprocess.run(
        ["/usr/bin/python3", environment.ROOT / "t" / "prove" / "prove.py", _KILLS, _SEED,
         "--instances", "2", "--customers", "5"],
        env=os.environ | {"PROVE_TMP": str(directory)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout
