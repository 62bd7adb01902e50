"""Every client scenario of the kit, with its revisions and the expected result.

A scenario without a reason must pass. A scenario with a reason is expected to fail, and the reason
explains why; if it passes one day, the reason must be removed."""

import dataclasses

_OLD = "2025-06-18"
_SESSION = "2025-11-25"
_STATELESS = "2026-07-28"
_BOTH = (_SESSION, _STATELESS)
_ALL = (_OLD, *_BOTH)

_PERSON = (
    "wants a person who signs in with a browser (the authorization code grant); the service "
    "authenticates as itself, with credentials that the operator has registered"
)
_REGISTRATION = "wants a client that registers itself; the operator registers the service"
_GRANT = "wants a grant of an extension; client_credentials and refresh_token are offered"
_DPOP = "wants tokens that are bound to a key (DPoP), which are not offered"
_ONE_STREAM = (
    "asks in a session without event ids: no run waits for a person with a connection, so the call is "
    "cancelled and made again with the answer. Every default arrives (5 of 6 checks); the sixth wants "
    "the first call to end without an error, too"
)
_SKILLS = "checks skills, an extension that is not offered: the kit finds nothing to check"


@dataclasses.dataclass(frozen=True)
class Scenario:
    name: str
    revisions: tuple
    reason: str = ""  # why it fails; empty: it must pass
    unchecked: bool = False  # the kit reports neither a pass nor a failure
    extension: bool = False  # the kit runs it with any revision
    timed: bool = False  # it measures time, so a loaded machine may fail it


SCENARIOS = [
    Scenario("initialize", (_OLD, _SESSION)),
    Scenario("tools_call", _ALL),
    Scenario("elicitation-sep1034-client-defaults", (_SESSION,), _ONE_STREAM),
    Scenario("sse-retry", (_SESSION,), timed=True),
    Scenario("request-metadata", (_STATELESS,)),
    Scenario("sep-2322-client-request-state", (_STATELESS,)),
    Scenario("http-standard-headers", (_STATELESS,)),
    Scenario("http-custom-headers", (_STATELESS,)),
    Scenario("http-invalid-tool-headers", (_STATELESS,)),
    Scenario("json-schema-ref-no-deref", (_STATELESS,)),
    Scenario("json-schema-2020-12-preservation", _BOTH),
    Scenario("auth/client-credentials-basic", _BOTH, extension=True),
    Scenario("auth/client-credentials-jwt", _BOTH, extension=True),
    Scenario("auth/pre-registration", _BOTH),
    Scenario("auth/resource-mismatch", (_STATELESS,)),
    Scenario("auth/metadata-issuer-mismatch", (_STATELESS,)),
    Scenario("auth/metadata-default", _BOTH, _PERSON),
    Scenario("auth/metadata-var1", _BOTH, _PERSON),
    Scenario("auth/metadata-var2", _BOTH, _PERSON),
    Scenario("auth/metadata-var3", _BOTH, _PERSON),
    Scenario("auth/basic-cimd", _BOTH, _PERSON),
    Scenario("auth/scope-from-www-authenticate", _BOTH, _PERSON),
    Scenario("auth/scope-from-scopes-supported", _BOTH, _PERSON),
    Scenario("auth/scope-omitted-when-undefined", _BOTH, _PERSON),
    Scenario("auth/scope-step-up", _BOTH, _PERSON),
    Scenario("auth/scope-retry-limit", _BOTH, _PERSON),
    Scenario("auth/token-endpoint-auth-basic", _ALL, _PERSON),
    Scenario("auth/token-endpoint-auth-post", _ALL, _PERSON),
    Scenario("auth/token-endpoint-auth-none", _ALL, _PERSON),
    Scenario("auth/2025-03-26-oauth-metadata-backcompat", ("2025-03-26",), _PERSON),
    Scenario("auth/2025-03-26-oauth-endpoint-fallback", ("2025-03-26",), _PERSON),
    Scenario("auth/offline-access-scope", (_STATELESS,), _PERSON),
    Scenario("auth/offline-access-not-supported", (_STATELESS,), _PERSON),
    Scenario("auth/authorization-server-migration", (_STATELESS,), _REGISTRATION),
    Scenario("auth/iss-supported", (_STATELESS,), _PERSON),
    Scenario("auth/iss-not-advertised", (_STATELESS,), _PERSON),
    Scenario("auth/iss-supported-missing", (_STATELESS,), _PERSON),
    Scenario("auth/iss-wrong-issuer", (_STATELESS,), _PERSON),
    Scenario("auth/iss-unexpected", (_STATELESS,), _PERSON),
    Scenario("auth/iss-normalized", (_STATELESS,), _PERSON),
    Scenario("auth/enterprise-managed-authorization", _BOTH, _GRANT, extension=True),
    Scenario("auth/wif-jwt-bearer", _BOTH, _GRANT, extension=True),
    Scenario("auth/dpop", _BOTH, _DPOP, extension=True),
    Scenario("auth/dpop-nonce", _BOTH, _DPOP, extension=True),
    Scenario("sep-2640-client-no-prefetch", _BOTH, _SKILLS, unchecked=True, extension=True),
    Scenario("sep-2640-client-verify-digest", _BOTH, _SKILLS, unchecked=True, extension=True),
    Scenario("sep-2640-client-verify-size", _BOTH, _SKILLS, unchecked=True, extension=True),
    Scenario("sep-2640-client-verify-frontmatter", _BOTH, _SKILLS, unchecked=True, extension=True),
]
