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
def shown(start_service, database):
    """The names of all metrics of a service that has done everything once. Its state is in PostgreSQL,
    which has metrics of its own."""
    state = {"checkpointer": {"type": "postgres", "url": database.url}}
    service = start_service(DEMO | state, server=_PAGE)
    service.invoke("call current_time")
    service.stream("hello").read_all()

    durations = ("first_chunk_seconds", "tool_call_duration_seconds", "database_commit_duration_seconds")
    counted = {f"agent_graph_{what}_count" for what in durations}
    # These are measured some time after the start.
    counted |= {f"agent_graph_database_{what}" for what in ("beat_age_seconds", "dead_rows")}

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


@needs_promtool
def test_the_rules_of_the_image_are_found(directory):
    """Prometheus of docker/compose.yaml has the rules beside its configuration."""
    shutil.copytree(_ALERTS.parent, directory / "rules")
    shutil.copy(environment.ROOT / "docker" / "monitoring" / "prometheus.yaml", directory / "prometheus.yml")
    done = subprocess.run(
        ["promtool", "check", "config", "prometheus.yml"], cwd=directory, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(_alerts())} rules found" in done.stdout + done.stderr


def _alerts():
    return re.findall(r"- alert: (\w+)", _ALERTS.read_text())


def _metric(name, **labels):
    shown = ",".join(f'{key}="{value}"' for key, value in ({"service": "shop"} | labels).items())
    return f"agent_graph_{name}{{{shown}}}"


# For each alert, series that it is about. Each has a value every minute: 0+60x200 grows by 60 a minute.
_GROWS, _STAYS = "0+60x200", "0x200"
_SERIES = {
    "AgentGraphDown": {_metric("up"): "0x200"},
    "AgentGraphNotScraped": {},
    "AgentGraphRunsFail": {
        _metric("runs_total", outcome="done"): "0+540x200",
        _metric("runs_total", outcome="timeout"): _GROWS,
    },
    "AgentGraphModelFails": {
        _metric("model_calls_total", outcome="done"): "0+120x200",
        _metric("model_calls_total", outcome="error"): _GROWS,
    },
    "AgentGraphFirstChunkIsSlow": {
        _metric("first_chunk_seconds_bucket", route="graph", le="10"): _STAYS,
        _metric("first_chunk_seconds_bucket", route="graph", le="30"): _GROWS,
        _metric("first_chunk_seconds_bucket", route="graph", le="+Inf"): _GROWS,
    },
    "AgentGraphModelIsSlow": {
        _metric("model_call_duration_seconds_bucket", model="m", le="60"): _STAYS,
        _metric("model_call_duration_seconds_bucket", model="m", le="120"): _GROWS,
        _metric("model_call_duration_seconds_bucket", model="m", le="+Inf"): _GROWS,
    },
    "AgentGraphStateIsSlow": {
        _metric("state_operation_duration_seconds_bucket", le="0.5"): _STAYS,
        _metric("state_operation_duration_seconds_bucket", le="1"): _GROWS,
        _metric("state_operation_duration_seconds_bucket", le="+Inf"): _GROWS,
    },
    "AgentGraphOverloaded": {_metric("refusals_total", reason="overloaded"): _GROWS},
    "AgentGraphQueueGrows": {_metric("queue_waiting"): "101x200"},
    "AgentGraphWaitsForMemory": {_metric("memory_waiting"): "1x200"},
    "AgentGraphRunsWait": {_metric("oldest_queued_run_seconds"): _GROWS},
    "AgentGraphRunsArePoisoned": {_metric("runs_poisoned_total"): _GROWS},
    "AgentGraphEffectsAreUnknown": {_metric("unknown_effects_total"): _GROWS},
    "AgentGraphEventLoopIsBlocked": {_metric("event_loop_delay_seconds"): "0.6x200"},
    "AgentGraphWorkersDoNotLeave": {_metric("workers", state="draining"): "1x200"},
    "AgentGraphBeatIsLate": {_metric("database_beat_age_seconds"): "3.5x200"},
    "AgentGraphHostsDie": {_metric("database_takeovers_total"): _GROWS},
    "AgentGraphCommitsAreSlow": {
        _metric("database_commit_duration_seconds_bucket", le="0.25"): _STAYS,
        _metric("database_commit_duration_seconds_bucket", le="0.5"): _GROWS,
        _metric("database_commit_duration_seconds_bucket", le="+Inf"): _GROWS,
    },
    "AgentGraphAcknowledgedDataIsLost": {_metric("database_acked_lost_total"): _GROWS},
    "AgentGraphStandbyIsBehind": {_metric("database_standby_lag_seconds"): "31x200"},
    "AgentGraphRateLimitIsNotChecked": {_metric("rate_limit_decisions_total", decision="unchecked"): _GROWS},
}


@needs_promtool
@pytest.mark.parametrize("alert", _alerts())
def test_an_alert_fires(directory, alert):
    """After two hours of such values the alert fires, and it is silent for a service that is fine."""
    series = _SERIES[alert]
    fine = {_metric("up"): "1x200", _metric("runs_total", outcome="done"): _GROWS}

    def case(values, firing):
        query = f'count(ALERTS{{alertname="{alert}", alertstate="firing"}}) or vector(0)'
        samples = [{"labels": "{}", "value": firing}]
        return {
            "interval": "1m",
            "input_series": [{"series": name, "values": shape} for name, shape in values.items()],
            "promql_expr_test": [{"expr": query, "eval_time": "2h", "exp_samples": samples}],
        }

    path = directory / "alerts_test.yaml"
    path.write_text(json.dumps({"rule_files": [str(_ALERTS)], "tests": [case(series, 1), case(fine, 0)]}))
    done = subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
