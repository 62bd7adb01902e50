"""Paths of the programs under test, and timeouts of the tests."""

import contextlib
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("AGENT_GRAPH_BUILD", ROOT / "build" / "release")).resolve()
# None if AGENT_GRAPH_MODULE is empty: the nginx under test contains the module.
_module = os.environ.get("AGENT_GRAPH_MODULE", str(BUILD / "ngx_http_agent_graph_module.so"))
MODULE = pathlib.Path(_module).resolve() if _module else None
GRAPHS = BUILD / "graphs"
GRAPH_DOCUMENTS = ROOT / "conf" / "graphs"
NGINX_BINARY = os.environ.get("NGINX_BINARY", "/usr/sbin/nginx")
NODE_MODULES = (ROOT / "build" / "node").resolve() / "node_modules"

# The options --checkpointer, --files and --hosts of pytest; see conftest.py.
CHECKPOINTER = "leveldb"
FILES = "local"
HOSTS = 1

# The option --beside: the folder of another build, or None.
BESIDE = None


@contextlib.contextmanager
def other_build():
    """Services that are made meanwhile run the build of --beside, if there is one."""
    global MODULE, GRAPHS
    before = MODULE, GRAPHS
    if BESIDE is not None:
        MODULE, GRAPHS = BESIDE / "ngx_http_agent_graph_module.so", BESIDE / "graphs"
    try:
        yield
    finally:
        MODULE, GRAPHS = before


# Empty, address or thread.
SANITIZER = os.environ.get("AGENT_GRAPH_SANITIZER", "")
# Factor for timeouts, large enough for a loaded machine with two cores.
TIME_SCALE = {"": 3, "address": 6, "thread": 12}[SANITIZER]
# Seconds until a test gives up waiting for anything. The result of a test must not depend on
# whether something happens within a few seconds.
PATIENCE = 40 * TIME_SCALE
