"""Tokens signed with a shared secret."""

import base64
import hashlib
import hmac
import json
import time

SECRET = "0123456789abcdef0123456789abcdef"
TOKEN_BYTES_MAX = 16 * 1024
# Content of a file for the key `env` of service.json.
JWT_ENVIRONMENT = f"JWT_SECRET_KEY={SECRET}\nJWT_ALGORITHM=HS256\n"


def _encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def token(user_id="alice", *, secret=SECRET, algorithm="HS256", expires_in=86_400, **claims):
    """Claims with the value None are omitted."""
    all_claims = {"user_id": user_id, "exp": time.time() + expires_in} | claims
    payload = {name: value for name, value in all_claims.items() if value is not None}
    return signed(json.dumps(payload), secret=secret, algorithm=algorithm)


def signed(payload, *, secret=SECRET, algorithm="HS256"):
    """Returns a token with this text as its payload."""
    header = json.dumps({"alg": algorithm, "typ": "JWT"})
    text = b".".join(_encode(part.encode()) for part in (header, payload))
    signature = hmac.new(secret.encode(), text, hashlib.sha256).digest()
    return (text + b"." + _encode(signature)).decode()


def bearer(user_id="alice", **options):
    """Returns the headers of a request by this user."""
    return [("Authorization", "Bearer " + token(user_id, **options))]


def token_of(size):
    """Returns a valid token of `size` bytes, or of one byte less if base64 has no such length."""
    claims = {"exp": int(time.time()) + 86_400, "padding": "x" * size}
    while len(text := token(**claims)) > size:
        claims["padding"] = claims["padding"][1:]
    return text
