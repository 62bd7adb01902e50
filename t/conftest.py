"""Options of all tests."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "http"))

from harness import environment, postgres  # noqa: E402


def pytest_addoption(parser):
    group = parser.getgroup("agent graph")
    group.addoption(
        "--checkpointer",
        choices=("leveldb", "postgres"),
        default="leveldb",
        help="where services keep their state whose test names no database, or names leveldb; "
        "postgres: each in a new database of a PostgreSQL that the tests start",
    )
    group.addoption(
        "--files",
        choices=("local", "pg"),
        default="local",
        help="where such services keep uploaded files; pg: in that database",
    )
    group.addoption(
        "--hosts",
        type=int,
        default=1,
        help="how many hosts serve in place of each such service, behind a haproxy that sends each "
        "connection to the next one",
    )
    group.addoption(
        "--beside",
        type=pathlib.Path,
        help="a folder with another build: the last host of tests in t/hosts that start several runs it, "
        "as in the middle of a rolling upgrade",
    )


def pytest_configure(config):
    environment.CHECKPOINTER = config.getoption("--checkpointer")
    environment.FILES = config.getoption("--files")
    environment.HOSTS = config.getoption("--hosts")
    if beside := config.getoption("--beside"):
        environment.BESIDE = beside.resolve()
    if environment.CHECKPOINTER != "postgres":
        if environment.FILES == "pg":
            raise pytest.UsageError("--files=pg needs --checkpointer=postgres")
        if environment.HOSTS > 1:
            raise pytest.UsageError("--hosts needs --checkpointer=postgres")


def pytest_collection_modifyitems(config, items):
    if environment.CHECKPOINTER == "leveldb":
        return
    for item in items:
        for marker in item.iter_markers("leveldb"):
            item.add_marker(pytest.mark.skip(reason=f"about LevelDB: {marker.args[0]}"))
        if environment.FILES != "local" and item.get_closest_marker("local_files"):
            item.add_marker(pytest.mark.skip(reason="about files in a folder"))
        if environment.HOSTS > 1:
            for marker in item.iter_markers("one_host"):
                item.add_marker(pytest.mark.skip(reason=f"about one host: {marker.args[0]}"))


@pytest.fixture(scope="session", autouse=True)
def shared_postgres():
    """Stops the PostgreSQL that the tests share."""
    yield
    postgres.shared.close()
