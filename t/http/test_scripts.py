"""The build scripts: missing optional parts never fail the build, missing required ones always
do."""

import collections
import json
import os
import shutil
import subprocess

import pytest

from harness import environment
from harness.http_service import HttpService

_UNREACHABLE = {"npm_config_registry": "http://127.0.0.1:1/", "npm_config_cache": "npm-cache"}


@pytest.fixture
def tree(directory):
    """A checkout with only the scripts."""
    shutil.copytree(environment.ROOT / "cmake", directory / "cmake")
    return directory


def _run(tree, script, *arguments, variables=(), path=None):
    variables = {"PATH": path or os.environ["PATH"], "HOME": str(tree)} | dict(variables)
    return subprocess.run(
        [tree / "cmake" / script, *arguments],
        cwd=tree,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def _path_without(tree, *missing):
    """Returns a PATH with all programs of this machine except these."""
    programs = tree / "programs"
    programs.mkdir()
    for folder in reversed(os.environ["PATH"].split(":")):
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            (programs / name).unlink(missing_ok=True)
            if name not in missing:
                (programs / name).symlink_to(f"{folder}/{name}")
    return str(programs)


def _assert_gave_up(done, tree, reason):
    assert done.returncode == 0, done.stderr
    assert f"install-docs-viewers.sh: {reason}; /docs and /redoc will be plain pages until `make docs`" in done.stderr
    assert not (tree / "build" / "docs").exists()


@pytest.mark.skipif(not shutil.which("npm"), reason="there is no npm to go without a registry")
def test_viewers_without_a_registry(tree):
    done = _run(tree, "install-docs-viewers.sh", variables=_UNREACHABLE)
    _assert_gave_up(done, tree, "npm cannot get swagger-ui-dist@5.35.0")


@pytest.mark.skipif(not shutil.which("npm"), reason="there is no npm to be given another package")
def test_viewers_from_a_registry_that_has_something_else(tree):
    registry = HttpService(lambda *_: (200, "application/json", "{}"))
    try:
        done = _run(
            tree, "install-docs-viewers.sh", variables=_UNREACHABLE | {"npm_config_registry": registry.url}
        )
    finally:
        registry.close()
    _assert_gave_up(done, tree, "npm cannot get swagger-ui-dist@5.35.0")


@pytest.mark.skipif(not shutil.which("npm"), reason="there is no npm to go without a registry")
def test_the_page_without_a_registry(tree):
    """An optional part asks a registry that fails once more, and not six times with longer pauses each."""
    shutil.copytree(environment.ROOT / "ui", tree / "ui")
    registry = HttpService(lambda *_: (503, "text/plain", "down"))
    try:
        variables = _UNREACHABLE | {"npm_config_registry": registry.url}
        done = _run(tree, "build-ui.sh", "--optional", variables=variables)
    finally:
        registry.close()
    assert done.returncode == 0, done.stderr
    assert "Studio, the page /ui/, will be a plain page" in done.stderr
    asked = collections.Counter(request["path"] for request in registry.requests)
    assert asked and max(asked.values()) <= 2, asked


_FAKE_NPM = """#!/bin/sh
mkdir -p build/programs/node_modules/@scope/one build/programs/node_modules/$TWO
echo {} >build/programs/node_modules/@scope/one/package.json
echo {} >build/programs/node_modules/$TWO/package.json
"""


def test_programs_that_npm_does_not_install(tree):
    """npm reports success; the script fails until everything is there, and asks npm again each time."""
    (tree / "wanted").mkdir()
    packages = {"dependencies": {"@scope/one": "1.0.0"}, "devDependencies": {"two": "npm:other@2.0.0"}}
    (tree / "wanted" / "package.json").write_text(json.dumps(packages, indent=2))
    (tree / "wanted" / "package-lock.json").write_text("{}")
    path = _path_without(tree, "npm")
    npm = tree / "programs" / "npm"
    npm.write_text(_FAKE_NPM)
    npm.chmod(0o755)

    def install(two):
        return _run(tree, "install-npm-programs.sh", "wanted", "build/programs", variables={"TWO": two}, path=path)

    for _ in range(2):
        done = install("other")
        assert done.returncode == 1
        assert "npm has not installed two in build/programs" in done.stderr
    assert install("two").returncode == 0
    npm.write_text("#!/bin/sh\nexit 3\n")
    assert install("two").returncode == 0, "recorded, so npm is not needed"
    shutil.rmtree(tree / "build" / "programs" / "node_modules")
    assert install("two").returncode == 3, "the programs were deleted, so they are installed again"


@pytest.mark.parametrize("missing, reason", [("npm", "there is no npm"), ("mktemp", "no temporary folder")])
def test_viewers_without_a_program(tree, missing, reason):
    done = _run(tree, "install-docs-viewers.sh", path=_path_without(tree, missing))
    _assert_gave_up(done, tree, reason)


def test_viewers_into_a_folder_that_cannot_be_made(tree):
    (tree / "build").write_text("")
    done = _run(tree, "install-docs-viewers.sh", path=_path_without(tree, "npm"))
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="runs as somebody who may not install packages")
def test_optional_packages_that_nobody_may_install(tree):
    """There is no sudo, and the package does not exist."""
    path = _path_without(tree, "sudo", "npm")
    script = tree / "cmake" / "install-packages.sh"
    script.write_text(script.read_text().replace("docs) echo npm openssl", "docs) echo no-such-package-xyz"))
    for options, status in ((["--optional"], 0), ([], 1)):
        done = subprocess.run(
            [script, *options, "docs"],
            cwd=tree,
            env={"PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            user="nobody",
            extra_groups=[],
        )
        assert done.returncode == status, done.stderr
        assert "no-such-package-xyz" in done.stderr


def test_a_module_that_cannot_be_read_has_no_good_symbols(directory):
    script = environment.ROOT / "ngx_module" / "module" / "check-symbols.sh"
    (directory / "module.so").write_text("not a module")
    for name in ("module.so", "missing.so"):
        done = subprocess.run([script, directory / name], capture_output=True, check=False)
        assert done.returncode != 0, name
