"""The dashboard and the alert rules in packaging/ fit what a running service shows."""

import json
import re
import shutil
import subprocess

import pytest

from harness import environment
from harness.agents import DEMO
from harness.waiting import wait_until

_PACKAGING = environment.ROOT / "packaging"
_ALERTS = _PACKAGING / "prometheus" / "alerts.yaml"
_DASHBOARD = _PACKAGING / "grafana" / "agent-graph.json"
_PAGE = "location = /metrics { agent_graph_status format=prometheus; }"

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")


def _queries():
    """All queries of the dashboard, with its variables replaced."""
    panels = json.loads(_DASHBOARD.read_text())["panels"]
    queries = [target["expr"] for panel in panels for target in panel.get("targets", [])]
    assert len(queries) > 20
    return [query.replace("$service", ".*").replace("$__rate_interval", "5m") for query in queries]


def _names(text):
    """The metrics that a text names outside of comments."""
    return set(re.findall(r"\bagent_graph_[a-z_]+", re.sub(r"^ *#.*$", "", text, flags=re.M)))


@pytest.fixture
def shown(start_service):
    """The names of all metrics of a service that has done everything once."""
    service = start_service(DEMO, server=_PAGE)
    service.invoke("call current_time")
    service.stream("hello").read_all()

    counted = {
        f"agent_graph_{what}_count" for what in ("first_chunk_seconds", "tool_call_duration_seconds")
    }

    def names():
        found = _names(service.get("/metrics").text)
        # A request counts when it has ended, and workers report at intervals.
        return counted <= found and found

    return wait_until(names, "stream and tool call are counted")


def test_every_metric_of_dashboard_and_alerts_exists(shown):
    for text in ("\n".join(_queries()), _ALERTS.read_text()):
        used = _names(text)
        assert used and not used - shown


def test_panels_have_ids_of_their_own():
    panels = json.loads(_DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len(places)


def _check_rules(path):
    done = subprocess.run(["promtool", "check", "rules", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_the_alert_rules_are_valid():
    _check_rules(_ALERTS)


@needs_promtool
def test_the_queries_of_the_dashboard_are_valid(directory):
    """promtool checks rules only, so each query becomes one."""
    rules = [{"record": f"query:{i}", "expr": query} for i, query in enumerate(_queries())]
    path = directory / "queries.yaml"
    path.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    _check_rules(path)
