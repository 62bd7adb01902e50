"""Settings of authentication and authorization that nginx -t refuses."""

import pytest

from harness.agents import behaviour
from harness.tokens import JWT_ENVIRONMENT, SECRET

_JWT = behaviour("echo", auth="jwt", env="secrets.env")


@pytest.mark.parametrize("key_file", ["", "JWT_JWKS_FILE=key\n", "JWT_PUBLIC_KEY_FILE=key\n"])
@pytest.mark.parametrize("missing", ["JWT_SECRET_KEY", "JWT_ALGORITHM"])
def test_jwt_needs_its_variables(make_service, missing, key_file):
    kept = "".join(line for line in JWT_ENVIRONMENT.splitlines(True) if missing not in line)
    service = make_service(_JWT, files={"secrets.env": kept + key_file})
    printed = service.refusal()
    assert missing in printed and SECRET not in printed


@pytest.mark.parametrize(
    "settings, named",
    [
        ({"auth": "basic"}, "auth: must be null"),
        ({"auth": {"method": "custom"}}, "auth: must be null"),
        ({"auth": {"method": "custom", "path": "auth/none.so:X"}}, "auth.path: "),
        ({"authorization": "owner"}, "is not one of ownership, allow_all"),
        ({"authorization": {"backend": "acl"}}, "is not one of rbac, role_based, roles"),
    ],
)
def test_wrong_settings_are_named(make_service, settings, named):
    assert named in make_service(behaviour("echo", **settings)).refusal()


@pytest.mark.parametrize("variable", ["JWT_JWKS_FILE", "JWT_PUBLIC_KEY_FILE"])
def test_a_broken_key_file_is_found_by_the_configuration_test(make_service, variable):
    files = {"secrets.env": f"{JWT_ENVIRONMENT}{variable}=key\n", "key": "{}"}
    assert variable in make_service(_JWT, files=files).refusal()


_PUBLIC_KEY = """\
-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEvypWKPbMXuV5LvZK1iU12tG9MQqW
ag5g07yp23aqebevOh5EMeEZd8gkHNEPij7oAMRlir9QGzXNenkolIZZFg==
-----END PUBLIC KEY-----
"""


def test_a_public_key_is_no_shared_secret(make_service):
    """A public key must not be used as a secret: everyone who knows it could sign."""
    in_one_line = _PUBLIC_KEY.replace("\n", "\\n")
    for variables, named in (
        (JWT_ENVIRONMENT + "JWT_PUBLIC_KEY_FILE=key.pem\n", "JWT_PUBLIC_KEY_FILE"),
        (f'JWT_SECRET_KEY="{in_one_line}"\nJWT_ALGORITHM=HS256\n', "JWT_SECRET_KEY"),
    ):
        service = make_service(_JWT, files={"secrets.env": variables, "key.pem": _PUBLIC_KEY})
        printed = service.refusal()
        assert named in printed and "HS256 needs a secret" in printed
