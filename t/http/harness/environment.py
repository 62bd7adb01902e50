"""Where the programs under test are, and how long their tests wait for them."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("AGENT_GRAPH_BUILD", ROOT / "build" / "release")).resolve()
# None, by an empty AGENT_GRAPH_MODULE: the nginx under test contains the module.
_module = os.environ.get("AGENT_GRAPH_MODULE", str(BUILD / "ngx_http_agent_graph_module.so"))
MODULE = pathlib.Path(_module).resolve() if _module else None
GRAPHS = BUILD / "graphs"
GRAPH_DOCUMENTS = ROOT / "conf" / "graphs"
NGINX_BINARY = os.environ.get("NGINX_BINARY", "/usr/sbin/nginx")
NODE_MODULES = (ROOT / "build" / "node").resolve() / "node_modules"

# Empty, address or thread.
SANITIZER = os.environ.get("AGENT_GRAPH_SANITIZER", "")
# Deadlines are for what never happens: a loaded machine of two cores may take its time.
TIME_SCALE = {"": 3, "address": 6, "thread": 12}[SANITIZER]
# Seconds until a test gives up waiting, for whatever it waits. No test may be green because
# something happened within a few seconds, nor red because it took longer.
PATIENCE = 40 * TIME_SCALE
