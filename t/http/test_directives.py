"""The directives of nginx.conf: where they stand, and what they refuse."""

import pytest

from harness import http1
from harness.agents import DEMO

_JSON = '{"agent": "graphs/react.json:app"}'
_TWO = "    agent_graph_service two two.json state=state/two;\n"


def _graph(service, target):
    return http1.fetch(service.port, "GET", target)


@pytest.mark.parametrize(
    "location, served",
    [
        ("location /a/ { agent_graph test; if ($arg_x) { agent_graph_base_path /a/deep; } }",
         {"/a/ping": 200, "/a/deep/ping": 404, "/a/deep/ping?x=1": 200, "/a/ping?x=1": 404}),
        ("location /b/ { agent_graph_base_path /b/v; agent_graph test;"
         " if ($arg_two) { agent_graph two; } }",
         {"/b/v/v1/graph": 200, "/b/v/v1/graph?two=1": 200, "/b/v1/graph?two=1": 404}),
        ("location ~ ^/c/ { agent_graph_base_path /c; agent_graph test;"
         " if ($arg_two) { agent_graph two; } }",
         {"/c/v1/graph": 200, "/c/v1/graph?two=1": 200}),
        ("location /d/ { agent_graph test; limit_except GET { deny all; } }", {"/d/v1/graph": 200}),
        ("location /e/ { agent_graph_base_path /e/v; if ($arg_two) { agent_graph two; } }",
         {"/e/v/v1/graph?two=1": 200, "/e/v/v1/graph": 404}),
    ],
    ids=["path", "service", "regex", "limit_except", "service-only"],
)  # fmt: skip
def test_base_paths_in_a_condition(start_service, location, served):
    service = start_service(DEMO, http=_TWO, files={"two.json": _JSON}, prefix="/x/", server=location)
    assert {target: _graph(service, target).status for target in served} == served


def test_the_description_names_the_base_path_of_a_condition(start_service):
    location = "location /a/ { agent_graph test; if ($arg_x) { agent_graph_base_path /a/deep; } }"
    service = start_service(DEMO, prefix="/x/", server=location)
    for target, url in (("/a/openapi.json", "/a"), ("/a/deep/openapi.json?x=1", "/a/deep")):
        assert _graph(service, target).json()["servers"] == [{"url": url}]


def test_a_condition_in_a_location_without_a_prefix_needs_a_path(make_service):
    location = "location ~ ^/c/ { if ($arg_two) { agent_graph test; } }"
    printed = make_service(DEMO, prefix="/x/", server=location).refusal()
    assert "agent_graph_base_path" in printed


@pytest.mark.parametrize("first, second", [(0, 1), (1, 0)], ids=["before", "after"])
def test_off_leaves_the_handler_of_another_module(start_service, first, second):
    lines = ("agent_graph off;", "proxy_pass http://127.0.0.1:$server_port/backend;")
    service = start_service(
        DEMO,
        prefix="/x/",
        server=f"location /p {{ {lines[first]} {lines[second]} }}\n"
        'location /backend { return 200 "backend"; }\n'
        "location /q/ { agent_graph test; if ($arg_off) { agent_graph off; } }",
    )
    assert _graph(service, "/p").text == "backend"
    assert _graph(service, "/q/v1/graph").status == 200
    assert _graph(service, "/q/v1/graph?off=1").status == 404
