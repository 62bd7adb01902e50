"""The C++ examples in docs/sdk.md compile against the installed headers."""

import re
import shutil
import subprocess

import pytest

from harness import environment

_HEADERS = environment.BUILD / "sdk" / "include"
_EXAMPLES = re.findall(r"^```cpp\n(.*?)^```", (environment.ROOT / "docs" / "sdk.md").read_text(), re.M | re.S)
# Examples with includes are complete programs; the others are parts of one.
_WHOLE = [text for text in _EXAMPLES if "#include" in text]
_FUNCTIONS = [text for text in _EXAMPLES if text.startswith("NodeResult ")]
_STATEMENTS = [text for text in _EXAMPLES if text not in _WHOLE + _FUNCTIONS]
_PRELUDE = """\
#include <agent_graph/agent_graph.h>
#include <nlohmann/json.hpp>
using namespace agent_graph;
extern Tool weather;
void BuildTeam(GraphBuilder& team);
"""


def _functions(bodies):
    return "".join(f"void Part{n}(GraphBuilder& graph) {{\n{text}}}\n" for n, text in enumerate(bodies))


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no compiler")
@pytest.mark.parametrize(
    "source", [*_WHOLE, _PRELUDE + "".join(_FUNCTIONS) + _functions(_STATEMENTS)],
    ids=[*(f"whole{n}" for n in range(len(_WHOLE))), "parts"],
)  # fmt: skip
def test_examples_compile(directory, source):
    file = directory / "example.cc"
    file.write_text(source)
    done = subprocess.run(
        ["g++", "-std=c++20", "-fsyntax-only", f"-I{_HEADERS}", str(file)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
