"""Tokens signed with a shared secret."""

import base64
import hashlib
import hmac
import json
import time

SECRET = "0123456789abcdef0123456789abcdef"
# A file for the key `env` of service.json.
JWT_ENVIRONMENT = f"JWT_SECRET_KEY={SECRET}\nJWT_ALGORITHM=HS256\n"


def _encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def token(user_id="alice", *, secret=SECRET, algorithm="HS256", expires_in=86_400, **claims):
    """Claims that are None are left out."""
    all_claims = {"user_id": user_id, "exp": time.time() + expires_in} | claims
    payload = {name: value for name, value in all_claims.items() if value is not None}
    header = {"alg": algorithm, "typ": "JWT"}
    text = b".".join(_encode(json.dumps(part).encode()) for part in (header, payload))
    signature = hmac.new(secret.encode(), text, hashlib.sha256).digest()
    return (text + b"." + _encode(signature)).decode()


def bearer(user_id="alice", **options):
    """The header list of a request by this user."""
    return [("Authorization", "Bearer " + token(user_id, **options))]
