"""Runs the clients of t/clients: programs that use a published package as its users do, against a
service."""

import json
import os
import subprocess

from . import environment
from .mock_provider import node

_SCRIPTS = environment.ROOT / "t" / "clients"
INSTALLED = (environment.ROOT / "build" / "clients").resolve()


def _command(script):
    if script.endswith(".py"):
        packages = INSTALLED / ("frameworks" if script == "frameworks_client.py" else "python")
        return ["/usr/bin/python3", str(_SCRIPTS / script)], {"PYTHONPATH": str(packages)}
    # Node looks for packages beside the program, so that it runs a copy beside them.
    copy = INSTALLED / script
    text = (_SCRIPTS / script).read_text()
    if not copy.exists() or copy.read_text() != text:
        temporary = copy.with_name(f"{os.getpid()}-{script}")
        temporary.write_text(text)
        temporary.rename(copy)
    return [str(node()), str(copy)], {}


def run_client(script, *scenarios, base_url, key="unused"):
    """Returns what each scenario of the client printed."""
    command, variables = _command(script)
    # No variable of the machine may change what the client does.
    variables |= {"PATH": os.environ["PATH"], "HOME": str(INSTALLED), "LANGSMITH_TRACING": "false"}
    done = subprocess.run(
        [*command, ",".join(scenarios), base_url, key],
        env=variables, capture_output=True, text=True, timeout=environment.PATIENCE, stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{script} {scenarios}:\n{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout)
