"""The JSON Schema of service.json: it is shipped as the service makes it, and an editor that uses it
accepts and refuses what nginx -t accepts and refuses."""

import copy
import json
import subprocess

import jsonschema
import pytest

from harness import environment
from harness.admin import PROGRAM
from harness.agents import DEMO

_SHIPPED = environment.ROOT / "conf" / "service.schema.json"

# One wrong value for each kind of rule, and right values that look unusual.
_REFUSED = [
    {"busy_threads": "enqueue"},
    {"agent": None},
    {"checkpointer": {"type": "levldb"}},
    {"checkpointer": {"ttl": 0}},
    {"models": {"default": {"provider": "demo", "retries": 1}}},
    {"models": {"default": {"provider": "demo", "retries_max": 11}}},
    {"models": {"default": {"provider": "demo", "headers": {"X-Team": 1}}}},
    {"models": {"default": {"provider": "demo", "parameters": []}}},
    {"models": ["default"]},
    {"window_max": 0},
    {"window_max": "100"},
    {"limits": {"runs_max": 0}},
    {"limits": {"runs_max": 1.5}},
    {"limits": None},
    {"cors": {"origins": [1]}},
    {"cors": {"credentials": "yes"}},
    {"security_headers": "true"},
    {"busy_thread": {"policy": "wait"}},
    {"websocket": {"max_connections": -1}},
    {"store": {"kind": "memory"}},
    {"media": {"storage_type": "disk"}},
    {"media": {"max_size_mb": [25]}},
    {"rate_limit": {"by": "address"}},
    {"rate_limit": {"window": "60"}},
    {"observability": {"sample_ratio": "1"}},
    {"observability": {"headers": "a=b"}},
    {"remote_tools": {"node": "TOOLS", "name": "x"}},
    {"remote_tools": [{"node": "TOOLS", "name": "x", "parameters": "{}"}]},
    {"id_generator": "ulid"},
    {"auth": {"method": "custom", "path": "a.so:B", "key": "x"}},
    {"env": 1},
]
_ACCEPTED = [
    {},
    {"$schema": 5, "injectq": [], "test": {"any": 1}, "ag_ui": None},
    {"checkpointer": "${TYPE:-memory}"},
    {"checkpointer": None, "store": None, "window_max": None, "media": None, "auth": None},
    {"models": DEMO["models"] | {
        "a b": {"provider": "${P:-demo}", "parameters": {"delay_ms": 1, "x": [None]}},
    }},
    {"busy_thread": {"policy": "reject", "queue_max": 1}},
    {"cors": {"origins": "https://a.example, https://b.example"}},
    {"websocket": {"max_connections": None, "bearer_protocols": ["x"]}},
    {"media": {"storage_type": "memory", "max_size_mb": "1.5", "require_owner": "true"}},
    {"media": "memory"},
    {"rate_limit": {"requests": 5, "window": 1, "enabled": "false"}},
    {"observability": {"level": 3, "logfire": {}, "enabled": False, "sample_ratio": 0.5}},
    {"authorization": {"backend": "rbac", "roles": {"a": "graph:read, graph:invoke", "b": []}}},
    {"authorization": "allow_all", "redis": ""},
    {"evaluation": {"output_dir": "x", "threshold": 0.5}},
    {"id_generator": {"type": "snowflake", "node": 3}},
    {"thread_name_generator": "random"},
]


@pytest.fixture(scope="module")
def schema():
    return json.loads(_SHIPPED.read_text())


def _errors(schema, document):
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(document)]


def test_the_shipped_schema_is_that_of_the_program():
    printed = subprocess.run([PROGRAM, "schema"], capture_output=True, text=True, check=True).stdout
    assert _SHIPPED.read_text() == printed, "run: agent-graph-admin schema > conf/service.schema.json"
    jsonschema.Draft202012Validator.check_schema(json.loads(printed))


def test_the_shipped_settings_name_and_fit_it(schema):
    settings = json.loads((environment.ROOT / "conf" / "service.json").read_text())
    assert settings["$schema"] == _SHIPPED.name
    assert _errors(schema, settings) == []


def test_it_requires_the_agent(schema):
    assert _errors(schema, {}) == ["'agent' is a required property"]


@pytest.mark.parametrize("member", _REFUSED, ids=json.dumps)
def test_it_refuses_what_the_service_refuses(make_service, schema, member):
    document = copy.deepcopy(DEMO) | member
    assert _errors(schema, document)
    make_service(document).refusal()


@pytest.mark.parametrize("member", _ACCEPTED, ids=json.dumps)
def test_it_accepts_what_the_service_accepts(make_service, schema, member):
    document = copy.deepcopy(DEMO) | member
    assert _errors(schema, document) == []
    accepted, printed = make_service(document).test_configuration()
    assert accepted, printed
