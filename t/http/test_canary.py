"""Whatever users do in whatever order, no answer to one of them contains text of another one."""

import pytest

from harness.agents import behaviour
from harness.crowd import ROLES, Crowd
from harness.live import LIVE
from harness.tokens import JWT_ENVIRONMENT

_REQUESTS = 500
_ISOLATED = {
    "ownership": "ownership",
    "roles": {"type": "rbac", "roles": ROLES, "default_scopes": ["config:read"]},
}


def _crowd(start_service, graph, authorization, seed):
    settings = graph | {"auth": "jwt", "env": "secrets.env", "store": "leveldb",
                        "embedding": "hash", "media": "memory",
                        "authorization": _ISOLATED[authorization]}
    files = {"secrets.env": JWT_ENVIRONMENT}
    crowd = Crowd(start_service(settings, files=files, workers=2), seed, graph is LIVE)
    for _ in range(_REQUESTS):
        crowd.act()
    # All kinds of results occurred: data was written, read, refused and deleted.
    assert crowd.statuses.get(200, 0) > _REQUESTS / 10, crowd.statuses
    assert crowd.statuses.get(403, 0) > _REQUESTS / 50, crowd.statuses
    assert not {status for status in crowd.statuses if status >= 500 and status != 503}
    return crowd


@pytest.mark.parametrize("authorization", _ISOLATED)
@pytest.mark.parametrize("seed", range(2))
def test_nobody_sees_what_others_wrote(start_service, authorization, seed):
    _crowd(start_service, behaviour("echo"), authorization, seed)


@pytest.mark.parametrize("authorization", _ISOLATED)
def test_nobody_sees_what_others_said(start_service, authorization):
    crowd = _crowd(start_service, LIVE, authorization, seed=2)
    assert crowd.turns
