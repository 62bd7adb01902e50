"""The examples of the documents work: they are run against a real nginx with the demo model, and
what they print is what the documents show."""

import re
import subprocess

import pytest

from harness import environment
from harness.example_checks import accepted_configuration
from harness.example_runner import ExampleRunner
from harness.examples import differences, examples_of, json_values, output_differences

_API = "docs/api.md"
_CLIENTS = "docs/clients.md"
_OTHERS = [
    "docs/install.md", "docs/quickstart.md", "docs/nginx-recipes.md", "docs/providers.md",
    "docs/configuration.md", "docs/sdk.md", "docs/scale-out.md", "docs/studio.md",
]  # fmt: skip
_README = "README.md"
_OPERATIONS = "docs/operations.md"
_SECURITY = "docs/security.md"
_ALL = [_API, _CLIENTS, *_OTHERS, _README, _OPERATIONS, _SECURITY, "docs/architecture.md"]


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
    facades = ("/openai/", "/agui", "/mcp")  # they are in docs/clients.md
    routes = {route for route in routes if not route[1].startswith(facades)}
    assert routes - runner.requested_routes() == set()


def test_examples_of_the_readme(runner):
    (runner.folder / _README).symlink_to(environment.ROOT / _README)
    runner.run(examples_of(_README))
    assert '"success":true' in runner.output and '"success":false' not in runner.output


def test_examples_of_operations(runner):
    """The page is about an nginx with a service `support`."""
    runner.serve("server { listen 8000; location / { agent_graph support; } }")
    runner.run(examples_of(_OPERATIONS))


def test_the_configuration_of_security_has_no_warning(runner):
    runner.run(examples_of(_SECURITY))
    assert "[warn]" not in runner.test_configuration()


def test_the_api_has_every_error():
    source = (environment.ROOT / "src" / "api" / "http" / "errors.cc").read_text()
    errors = set(re.findall(r'\.status = (\d+),\s+\.code = "(\w+)"', source))
    table = (environment.ROOT / _API).read_text().split("## Errors")[1]
    rows = re.findall(r"^\| (\d+) \| (`[A-Z_`, ]+`) \|", table, re.M)
    assert {(status, code) for status, codes in rows for code in re.findall(r"\w+", codes)} == errors


@pytest.mark.parametrize("document", _ALL)
def test_shown_json_is_json(document):
    """Values, or members of an object; `…` stands for something."""
    for example in examples_of(document):
        if example.language == "json":
            text = re.sub(r"(?<=[{\[])…(?=[}\]])", "", example.text).replace(": …", ": null")
            assert json_values(text) is not None or json_values("{" + text + "}") is not None, example.line


def _markdown():
    """Every document of the checkout."""
    yield from environment.ROOT.glob("*.md")
    for folder in environment.ROOT.iterdir():
        if folder.is_dir() and not folder.name.startswith(("build", ".")):
            yield from (path for path in folder.rglob("*.md") if "node_modules" not in path.parts)


_MARKDOWN = sorted(str(path.relative_to(environment.ROOT)) for path in _markdown())


@pytest.mark.parametrize("document", _MARKDOWN)
def test_programs_without_a_mark(document):
    """A program without a mark would never be run. One with a mark is run only in the listed documents."""
    programs = [example for example in examples_of(document) if example.is_program]
    assert [example.line for example in programs if not example.kind] == []
    assert document in _ALL or {example.kind for example in programs} <= {"not"}


@pytest.mark.parametrize("document", _MARKDOWN)
def test_every_block_and_mark_is_seen(document):
    """A block that is indented, or a mark that is not right before its block, would be left out."""
    text = (environment.ROOT / document).read_text()
    examples = examples_of(document)
    assert len(re.findall(r"^\s*(?:`{3,}|~{3,})", text, re.M)) == 2 * len(examples)
    assert len(re.findall(r"<!--\s*example", text)) == len([example for example in examples if example.kind])


@pytest.mark.parametrize("document", _MARKDOWN)
def test_nginx_accepts_what_is_shown(document, directory):
    """The parts of nginx.conf that no other test of the documents starts."""
    for example in examples_of(document):
        if example.language == "nginx" and not (example.kind and document in _ALL):
            accepted_configuration(directory / f"line-{example.line}", example.text)


def test_shown_commands_exist():
    """Targets of make, and scripts of the checkout."""
    targets = set(re.findall(r"^([a-z-]+):", (environment.ROOT / "Makefile").read_text(), re.M))
    for document in _MARKDOWN:
        text = (environment.ROOT / document).read_text()
        shown = set(re.findall(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*make ([a-z-]+)", text, re.M))
        shown |= set(re.findall(r"`make ([a-z-]+)", text))
        assert shown <= targets, document
        for script in re.findall(r"(?<![\w/.])(?:bench|cmake|docker|packaging|charts|conf|t)/[\w/.-]+\.(?:sh|py|json|yaml|cc)\b", text):
            assert (environment.ROOT / script).exists(), f"{document}: {script}"


@pytest.mark.parametrize("program", ["agent-graph", "agent-graph-admin"])
def test_shown_subcommands_exist(program):
    done = subprocess.run([environment.BUILD / program, "--help"], capture_output=True, text=True, check=True)
    known = set(re.findall(rf"^(?: +|usage: ){program} ([a-z-]+)|^  ([a-z]+) ", done.stdout, re.M))
    known = {name for names in known for name in names if name}
    for document in _MARKDOWN:
        text = (environment.ROOT / document).read_text()
        code = re.findall(r"^```\w*\n.*?^```$|`[^`\n]+`", text, re.M | re.S)
        shown = {name for piece in code for name in re.findall(rf"\b{program} ([a-z][a-z-]*)", piece)}
        assert shown <= known, document


def test_the_shown_drop_in_is_the_shipped_one():
    shipped = (environment.ROOT / "packaging/systemd/nginx.service.d/agent-graph.conf").read_text()
    (shown,) = [example.text for example in examples_of(_OPERATIONS) if example.language == "ini"]
    without_comments = [re.sub(r"^#.*\n", "", text, flags=re.M) for text in (shown, shipped)]
    assert without_comments[0] == without_comments[1]


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
