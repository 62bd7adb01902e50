"""The shared memory of a service has room for all workers."""

import re

import pytest

from harness.agents import DEMO
from harness.waiting import wait_until

pytestmark = pytest.mark.one_host("the shared memory of one nginx")

_PAGE = "location = /status.json { agent_graph_status format=json; }"
_LIMITED = DEMO | {"rate_limit": {"requests": 5}}


def _with_zone(size):
    return f"zone=rows:{size}"


@pytest.mark.parametrize("workers", [55, 129, 256])
@pytest.mark.parametrize("options", ["", _with_zone("16m")], ids=["default", "large"])
def test_many_workers_have_room(make_service, workers, options):
    service = make_service(_LIMITED, workers=workers, service_options=options)
    accepted, printed = service.test_configuration()
    assert accepted, printed


@pytest.mark.parametrize("workers, size", [(1024, "1m"), (129, "256k"), (2, "32k")])
def test_the_size_that_the_error_names_is_enough(make_service, workers, size):
    service = make_service(_LIMITED, workers=workers, service_options=_with_zone(size))
    named = re.search(r'zone "rows" is too small .* at least (\d+k)', service.refusal())
    service.reshape(service_options=_with_zone(named[1]))
    accepted, printed = service.test_configuration()
    assert accepted, printed


def test_a_reload_with_more_workers_shows_all_of_them(start_service):
    service = start_service(DEMO, workers=1, server=_PAGE, service_options=_with_zone("32k"))
    service.reshape(workers=6)
    fresh = service.reload()

    def shown():
        (status,) = service.get("/status.json").json()["services"]
        return {row["pid"] for row in status["rows"]} >= fresh

    wait_until(shown, "each new worker has a row")


def test_workers_without_a_row_are_logged(start_service):
    """While nginx reads the http block, it does not know a number of workers that follows it."""
    service = start_service(DEMO, workers=1, service_options=_with_zone("32k"))
    line = "worker_processes 1;\n"
    assert line in service.configuration
    moved = service.configuration.replace(line, "") + "\nworker_processes 6;\n"
    service.configure(moved)
    service.error_log.allow("further workers are not counted")
    service.reload()
    service.wait_for_log('zone "rows" has room for the counters of 3 workers, and 12 are needed')
