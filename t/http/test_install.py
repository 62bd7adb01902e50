"""The files of `make install` work from there, and can be installed while nginx runs."""

import os
import shutil
import subprocess

import pytest

from harness import environment
from harness.agents import DEMO
from harness.examples import examples_of

_SYSTEMD = environment.ROOT / "packaging" / "systemd"
_PROJECT = "cmake_minimum_required(VERSION 3.25)\nproject(graphs LANGUAGES CXX)\n"


def _shown(language):
    """The example in docs/install.md that builds a graph in C++, in this language."""
    examples = [example.text for example in examples_of("docs/install.md") if example.language == language]
    (text,) = [text for text in examples if "support.cc" in text]
    return text


def _run(*command, **variables):
    done = subprocess.run(
        [str(word) for word in command],
        env=os.environ | {name: str(value) for name, value in variables.items()},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _install(root, *options):
    _run("cmake", "--install", environment.BUILD, "--prefix", "/usr", *options, DESTDIR=root)


@pytest.fixture
def installed(directory):
    _install(directory / "root", "--component", "sdk")
    _install(directory / "root", "--component", "development")
    return directory / "root"


def test_pkg_config_names_the_headers(installed):
    variables = {
        "PKG_CONFIG_PATH": installed / "usr/share/pkgconfig",
        "PKG_CONFIG_SYSROOT_DIR": "",
        "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1",
    }
    flags = _run("pkg-config", "--cflags", "agent-graph", **variables).split()
    assert "-I/usr/include" in flags and "-std=c++20" in flags


def test_make_run_installs_the_headers_that_the_quickstart_compiles_with():
    outputs = _run("ninja", "-C", environment.BUILD, "-t", "query", "sdk").split("outputs:")[1]
    assert "serving" in outputs.split()


def test_the_samples_are_not_among_the_documents(directory):
    # Small images of Debian install nothing below /usr/share/doc. Earlier versions had a folder there.
    old = directory / "root/usr/share/doc/agent-graph/conf"
    old.mkdir(parents=True)
    (old / "service.json").write_text("{}")
    _install(directory / "root", "--component", "documents")
    samples = directory / "root/usr/share/agent-graph/conf"
    assert (samples / "service.json").is_file() and (samples / "graphs/support.json").is_file()
    assert old.resolve() == samples.resolve()


@pytest.fixture
def project(directory):
    """A folder with the sample as the user's own graph."""
    folder = directory / "project"
    folder.mkdir()
    shutil.copy(environment.ROOT / "conf/graphs/support.cc", folder)
    return folder


def test_a_graph_is_built_with_cmake_and_served(installed, project, start_service):
    (project / "CMakeLists.txt").write_text(_PROJECT + _shown("cmake"))
    _run("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={installed}/usr")
    _run("cmake", "--build", project / "build")
    service = start_service(DEMO | {"agent": f"{project}/build/support.so:app"})
    assert service.get("/ping").status == 200


def test_a_graph_is_built_with_one_command(installed, project, make_service):
    variables = {"PKG_CONFIG_PATH": installed / "usr/share/pkgconfig", "PKG_CONFIG_SYSROOT_DIR": installed}
    command = _shown("sh").replace("-O2", "-O0")  # takes a third of the time
    _run("sh", "-c", f"cd {project} && {command}", PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1, **variables)
    accepted, printed = make_service(DEMO | {"agent": f"{project}/support.so:app"}).test_configuration()
    assert accepted, printed


def test_a_mapped_module_is_replaced_and_not_written_to(directory):
    root = directory / "root"
    _install(root, "--component", "module")
    (module,) = root.rglob("ngx_http_agent_graph_module.so")
    assert (module.parent / "agent-extract").exists()
    with open(module, "rb") as mapped:
        before = os.fstat(mapped.fileno())
        # An older file, so that CMake does not take it for up to date.
        os.utime(module, (0, 0))
        _install(root, "--component", "module")
        assert os.stat(module).st_ino != before.st_ino
        assert os.fstat(mapped.fileno()).st_size == before.st_size


def test_the_backup_script_keeps_the_newest_of_its_own(directory):
    state = directory / "state"
    for name in ("auto-20250101-030000", "auto-20250102-030000", "before-upgrade"):
        (state / "backups" / name).mkdir(parents=True)
    admin = directory / "agent-graph-admin"
    admin.write_text('#!/bin/sh\ntest "$1" = backup && mkdir "$2/backups/$3"\n')
    admin.chmod(0o755)
    _run(_SYSTEMD / "back-up-and-prune", state, "2", AGENT_GRAPH_ADMIN=admin)
    first, second, by_hand = sorted(path.name for path in (state / "backups").iterdir())
    assert (first, by_hand) == ("auto-20250102-030000", "before-upgrade")
    assert second.startswith("auto-")
