"""An object storage that verifies requests: version 4 signatures by the published rules, and the
hash of every body. Uploads can be held: the server then reads their bodies so slowly that they
take minutes, but it never stops reading, because a client would give up."""

import hashlib
import hmac
import http.server
import threading
import urllib.parse

from .ports import free_port

_HELD_INTERVAL, _HELD_PIECE = 1, 32 * 1024


def _hmac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _quoted(text, safe):
    return urllib.parse.quote(text, safe=safe + "-_.~")


class Bucket:
    ACCESS_KEY = "AKIDEXAMPLE"
    SECRET_KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"

    def __init__(self):
        self.objects = {}  # path: (content type, bytes)
        self.refused = []  # reasons
        self.begun = 0  # uploads whose headers have been read
        self.go_on = threading.Event()
        self.go_on.set()
        self.cut_at = None  # if set, downloads end after this many bytes
        bucket = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_PUT(self):
                with bucket._lock:
                    bucket.begun += 1
                size = int(self.headers["Content-Length"])
                body = b""
                while not bucket.go_on.wait(_HELD_INTERVAL):
                    body += self.rfile.read(min(_HELD_PIECE, size - len(body)))
                body += self.rfile.read(size - len(body))
                why = bucket._problem(self, hashlib.sha256(body).hexdigest())
                if why is None:
                    bucket.objects[self.path] = (self.headers["Content-Type"], body)
                self.answer(why)

            def do_GET(self):
                path, _, query = self.path.partition("?")
                why = bucket._problem(self, hashlib.sha256(b"").hexdigest(), query)
                found = bucket.objects.get(path)
                if why is None and found is None:
                    return self.answer("no such object", 404)
                self.answer(why, body=found[1] if found and why is None else b"")

            def answer(self, why, status=403, body=b""):
                if why is not None and status == 403:
                    bucket.refused.append(why)
                self.send_response(200 if why is None else status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: bucket.cut_at])
                if bucket.cut_at is not None and bucket.cut_at < len(body):
                    self.close_connection = True

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 256
            daemon_threads = True

        self._lock = threading.Lock()
        self._server = Server(("127.0.0.1", free_port()), Handler)
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self.endpoint = f"http://{self.host}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self):
        self.go_on.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _problem(self, request, body_hash, query=""):
        """Returns the error in the signature of a request, which is in its headers or its query."""
        path = request.path.partition("?")[0]
        values = dict(urllib.parse.parse_qsl(query))
        if "X-Amz-Signature" in values:
            signature = values.pop("X-Amz-Signature")
            credential, names = values["X-Amz-Credential"], values["X-Amz-SignedHeaders"]
            time, payload = values["X-Amz-Date"], "UNSIGNED-PAYLOAD"
        else:
            algorithm, _, fields = request.headers["Authorization"].partition(" ")
            if algorithm != "AWS4-HMAC-SHA256":
                return f"signed by {algorithm}"
            fields = dict(field.strip().split("=", 1) for field in fields.split(","))
            signature, credential, names = (fields[key] for key in ("Signature", "Credential", "SignedHeaders"))
            time, payload = request.headers["x-amz-date"], request.headers["x-amz-content-sha256"]
            if payload not in (body_hash, "UNSIGNED-PAYLOAD"):
                return f"the body is {body_hash}, not {payload}"
        key_id, scope = credential.split("/", 1)
        if key_id != self.ACCESS_KEY:
            return f"unknown key {key_id}"
        canonical = "\n".join((
            request.command, _quoted(urllib.parse.unquote(path), "/"),
            "&".join(f"{_quoted(k, '')}={_quoted(v, '')}" for k, v in sorted(values.items())),
            *(f"{name}:{' '.join(request.headers[name].split())}" for name in names.split(";")), "",
            names, payload))
        key = b"AWS4" + self.SECRET_KEY.encode()
        for part in scope.split("/"):
            key = _hmac(key, part)
        text = "\n".join(("AWS4-HMAC-SHA256", time, scope, hashlib.sha256(canonical.encode()).hexdigest()))
        expected = _hmac(key, text).hex()
        return None if expected == signature else f"signature {signature}, not {expected}"
