"""Runs agent-graph-admin on the state of a service."""

import os
import subprocess

from . import environment

PROGRAM = environment.BUILD / "agent-graph-admin"


def admin(*arguments, code=0, extra_environment=None):
    """Runs the program; returns its output. It must exit with `code`."""
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | (extra_environment or {}),
        timeout=environment.PATIENCE,
        check=False,
    )
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def state_of(service):
    """The state directory of a service."""
    return service.directory / "state" / "test"
