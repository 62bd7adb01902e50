#!/usr/bin/env python3
"""Time to Studio's first paint in Debian's Chromium: from the beginning of the navigation to the
first frame, to the first frame with text, and to the page with the service's answers. Each visit
begins with an empty cache, and the browser's performance entries are read.

Needs what `make test` installs. Usage: bench/studio.py BUILD_DIRECTORY
"""
import json
import pathlib
import statistics
import sys
import tempfile
import types

from run import percentile
from servers import Nginx, module_head

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "t/ui"), str(ROOT / "t/http")]
from browser import BUILT, Browser  # noqa: E402

VISITS = 30
BUDGET_MS = 200
ENTRIES = """[...performance.getEntriesByType("paint")]
    .reduce((all, {name, startTime}) => ({...all, [name]: startTime}), {})"""


class StudioNginx(Nginx):
    """The sample agent with Studio."""

    def __init__(self, build, directory, port):
        self.build, self.directory, self.port = build, directory, port
        (directory / "agent.json").write_text(json.dumps({"app": {
            "nodes": [{"name": "MAIN", "type": "agent"}],
            "edges": [{"from": "START", "to": "MAIN"}, {"from": "MAIN", "to": "END"}]}}))
        (directory / "durable.json").write_text(json.dumps({"agent": "agent.json:app",
                                                            "models": {"default": {"provider": "demo"}}}))
        (directory / "nginx.conf").write_text(f"""
{module_head(build, directory, "")}
    agent_graph_service durable {directory}/durable.json state={directory}/state;
    server {{
        listen 127.0.0.1:{port};
        location /plain/ {{ agent_graph durable; }}
        location /durable/ {{ agent_graph durable; agent_graph_ui "{BUILT}"; }}
    }}
}}
""")


def visit(browser, service):
    browser.open(service)
    browser.wait_for(".composer")
    paints = browser.evaluate(ENTRIES)
    return {"first paint": paints["first-paint"],
            "first text": paints["first-contentful-paint"],
            "chat ready (<=)": browser.evaluate("performance.now()")}


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as directory:
        with StudioNginx(build, pathlib.Path(directory), 8181) as nginx:
            browser = Browser()
            service = types.SimpleNamespace(port=nginx.port, prefix="/durable")
            visit(browser, service)  # starts the browser's processes
            visits = [visit(browser, service) for _ in range(VISITS)]
            browser.close()
    for name in visits[0]:
        times = [one[name] for one in visits]
        print(f"{name:16} p50 {statistics.median(times):6.1f} ms   p90 {percentile(times, 0.9):6.1f} ms")
    usual = statistics.median([one["first paint"] for one in visits])
    print(f"first paint within {BUDGET_MS} ms on loopback: {'yes' if usual <= BUDGET_MS else 'NO'}")


if __name__ == "__main__":
    main()
