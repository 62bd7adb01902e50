"""The examples of the documents work: they are run against a real nginx with the demo model, and
what they print is what the documents show."""

import re

import pytest

from harness import environment
from harness.example_runner import ExampleRunner
from harness.examples import differences, examples_of, output_differences

_API = "docs/api.md"
_CLIENTS = "docs/clients.md"
_OTHERS = [
    "docs/install.md", "docs/quickstart.md", "docs/nginx-recipes.md", "docs/providers.md",
    "docs/security.md", "docs/configuration.md", "docs/sdk.md",
]  # fmt: skip
_README = "README.md"
_OPERATIONS = "docs/operations.md"


@pytest.fixture
def runner(directory, instances):
    runner = ExampleRunner(directory, instances)
    yield runner
    runner.close()


@pytest.mark.parametrize("document", _OTHERS)
def test_examples_of(document, runner):
    runner.run(examples_of(document))


def test_examples_with_published_clients(directory, instances):
    runner = ExampleRunner(directory, instances, clients=True)
    try:
        runner.run(examples_of(_CLIENTS))
    finally:
        runner.close()


def test_examples_of_the_api_request_every_route(runner):
    runner.run(examples_of(_API))
    paths = runner.get("/openapi.json").json()["paths"]
    routes = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    routes = {route for route in routes if not route[1].startswith("/openai/")}  # docs/clients.md
    assert routes - runner.requested_routes() == set()


def test_examples_of_the_readme(runner):
    (runner.folder / _README).symlink_to(environment.ROOT / _README)
    runner.run(examples_of(_README))
    assert '"success":true' in runner.output and '"success":false' not in runner.output


def test_examples_of_operations(runner):
    """The page is about an nginx with a service `support`."""
    runner.serve("server { listen 8000; location / { agent_graph support; } }")
    runner.run(examples_of(_OPERATIONS))


def test_the_api_has_every_error():
    source = (environment.ROOT / "src" / "api" / "http" / "errors.cc").read_text()
    errors = set(re.findall(r'\.status = (\d+),\s+\.code = "(\w+)"', source))
    table = (environment.ROOT / _API).read_text().split("## Errors")[1]
    rows = re.findall(r"^\| (\d+) \| (`[A-Z_`, ]+`) \|", table, re.M)
    assert {(status, code) for status, codes in rows for code in re.findall(r"\w+", codes)} == errors


@pytest.mark.parametrize("document", [_API, _CLIENTS, *_OTHERS, _README, _OPERATIONS, "docs/architecture.md"])
def test_programs_without_a_mark(document):
    """A program without a mark would never be run."""
    assert [example.line for example in examples_of(document) if example.is_program and not example.kind] == []


def test_what_counts_as_the_same_output():
    shown = {"id": "5c055b74-602c-4d8d-89f0-c75defb8abbe", "list": [1, "…"], "at": "2026-11-23T20:49:30Z"}
    actual = {"id": "e57e68de-4563-44cd-b8d2-4ab4c38ea5aa", "list": [1, 2, 3], "at": "2027-01-01T00:00:00Z"}
    assert list(differences(shown, actual | {"more": True})) == []
    assert list(differences(shown, actual | {"id": "none"})) == [
        ".id is 'none', not '5c055b74-602c-4d8d-89f0-c75defb8abbe'"
    ]
    assert list(differences({"a": {"b": 1}}, {"a": {}})) == [".a.b is missing"]
    assert list(differences({"done": True}, {"done": 1})) == [".done is 1, not True"]
    assert list(differences([1], [1, 2])) == [" has 2 items, not 1"]
    assert output_differences("a … c\n", "a b c") == []
    assert output_differences("a c\n", "a b c") == ["the output is:\na b c"]
