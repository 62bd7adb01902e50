"""Messages of `nginx -t` about callers: agent_graph_user, users that nginx checks, services in production."""

import pytest

from harness.agents import behaviour

_BY_NGINX = behaviour("echo", auth="nginx")
_USERS = {"users": "alice:{PLAIN}a-secret\n"}
_BASIC = 'auth_basic "agents"; auth_basic_user_file users;'


@pytest.mark.parametrize(
    "settings, location, words",
    [
        (_BY_NGINX, "", ["agent_graph_user", '"auth": "nginx"', '"/"']),
        (_BY_NGINX, "agent_graph_user_claims $ssl_client_s_dn;", ["agent_graph_user", '"auth": "nginx"']),
        (behaviour("echo"), "agent_graph_user $remote_user;", ["agent_graph_user", '"auth": "nginx"']),
        (behaviour("echo"), "agent_graph_user_claims $remote_user;", ["agent_graph_user_claims"]),
        (_BY_NGINX, "agent_graph_user alice;", ["agent_graph_user", '"alice"', "variable"]),
        (_BY_NGINX, "agent_graph_user $remote_user; agent_graph_user $remote_user;", ["duplicate"]),
        (_BY_NGINX, "agent_graph_user $no_such_variable;", ["no_such_variable"]),
        (_BY_NGINX, _BASIC + "agent_graph_user $remote_user; satisfy any; allow all;", ["agent_graph_user", "satisfy all"]),
        (behaviour("echo", auth="apache"), "", ["auth", '"nginx"']),
    ],
    ids=["missing", "only-claims", "unused", "unused-claims", "constant", "twice", "unknown", "any", "auth"],
)
def test_errors_of_the_configuration(make_service, settings, location, words):
    printed = make_service(settings, location=location).refusal()
    (line,) = [line for line in printed.splitlines() if "[emerg]" in line]
    for word in words:
        assert word in line


@pytest.mark.parametrize("value", ["$http_x_user", "${arg_user}", "x-$cookie_user", "$uri"])
def test_values_that_clients_choose_are_warned_of(make_service, value):
    service = make_service(_BY_NGINX, location=f"agent_graph_user {value};")
    accepted, printed = service.test_configuration()
    assert accepted and "every client can choose" in printed


_PRODUCTION = {"production.env": "MODE=production\n"}
_RISKS = {
    "auth: MODE is production": {"auth": "nginx"},
    "cors: MODE is production": {"cors": {"origins": ["https://app.example"]}},
    "rate_limit: MODE is production": {"rate_limit": {"requests": 60, "window": 60}},
}


@pytest.mark.parametrize("warning", _RISKS)
def test_risks_of_production_are_warned_of(make_service, warning):
    settings = behaviour("echo", env="production.env")
    for text, remedy in _RISKS.items():
        if text != warning:
            settings |= remedy
    for extra, warned in (({}, True), (_RISKS[warning], False)):
        location = "agent_graph_user $remote_user;" if "auth" in settings | extra else ""
        service = make_service(settings | extra, files=_PRODUCTION, location=location)
        accepted, printed = service.test_configuration()
        assert accepted and (warning in printed) == warned, printed
        assert not [text for text in _RISKS if text in printed and text != warning], printed


def test_development_has_no_such_warnings(make_service):
    accepted, printed = make_service(behaviour("echo")).test_configuration()
    assert accepted and "MODE is production" not in printed


_SHARED = "does not keep them apart"


@pytest.mark.parametrize(
    "location, directive",
    [
        (_BASIC, "auth_basic"),
        ("auth_request /who;", "auth_request"),
        ("auth_basic off;", None),
        ("auth_request off;", None),
        ("", None),
    ],
)
def test_users_of_nginx_that_the_service_does_not_see_are_warned_of(make_service, location, directive):
    service = make_service(behaviour("echo"), files=_USERS, location=location)
    accepted, printed = service.test_configuration()
    assert accepted, printed
    lines = [line for line in printed.splitlines() if _SHARED in line]
    assert len(lines) == (1 if directive else 0), printed
    for word in (f'"{directive}" in location "/"', '"auth": "nginx"', "agent_graph_user", "service.json"):
        assert not lines or word in lines[0]


def test_users_of_a_whole_server_are_seen_in_its_locations(make_service):
    service = make_service(behaviour("echo"), files=_USERS, server=_BASIC)
    assert _SHARED in service.test_configuration()[1]
    opened = make_service(behaviour("echo"), files=_USERS, server=_BASIC, location="auth_basic off;")
    assert _SHARED not in opened.test_configuration()[1]


@pytest.mark.parametrize("settings", [_BY_NGINX, behaviour("echo", authorization="allow_all")], ids=["seen", "wanted"])
def test_users_of_nginx_that_are_seen_or_share_everything_need_no_warning(make_service, settings):
    location = _BASIC + ("agent_graph_user $remote_user;" if "auth" in settings else "")
    accepted, printed = make_service(settings, files=_USERS, location=location).test_configuration()
    assert accepted and _SHARED not in printed, printed
