"""The tools that the server scenarios of the kit expect, as an MCP server of revision 2026-07-28: the
graph under test has them, and the service offers them to the kit as its own."""

import http.server
import json
import threading

_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
_OPTIONS = ["option1", "option2", "option3"]
_TITLED = [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]
_NAME = {"name": {"type": "string"}}


def _text(text):
    return {"type": "text", "text": text}


def _content(*blocks, **more):
    return {"resultType": "complete", "content": list(blocks), **more}


def _resource(uri, mime_type, text):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}}


def _ask(key, message, properties, state=None, required=None):
    schema = {"type": "object", "properties": properties, "required": list(properties) if required is None else required}
    request = {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}
    result = {"resultType": "input_required", "inputRequests": {key: request}}
    return result if state is None else result | {"requestState": state}


def _asking(key, message, properties, reply, state=None, required=None):
    """A tool that asks one question and replies with the answer."""

    def call(params):
        answer = params.get("inputResponses", {}).get(key)
        if answer is None:
            return _ask(key, message, properties, state, required)
        if state is not None and params.get("requestState") != state:
            return _content(_text("state-lost"), isError=True)
        return _content(_text(reply(answer)))

    return call


def _completed(answer):
    return f"Elicitation completed: action={answer['action']}, content={json.dumps(answer.get('content'))}"


def _multi_round(params):
    if params.get("requestState") == "two":
        return _content(_text("done"))
    if params.get("requestState") == "one":
        return _ask("step2", "Step 2: What is your favorite color?", {"color": {"type": "string"}}, "two")
    return _ask("step1", "Step 1: What is your name?", _NAME, "one")


def _elicitation(params):
    answer = params.get("inputResponses", {}).get("user")
    if answer is None:
        text = {"type": "string"}
        return _ask("user", params["arguments"]["message"], {"username": text, "email": text})
    return _content(_text(f"User response: {json.dumps(answer)}"))


_DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
_ENUMS = {
    "untitledSingle": {"type": "string", "enum": _OPTIONS},
    "titledSingle": {"type": "string", "oneOf": _TITLED},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["One", "Two"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
}
_STATE_TOOL = _asking("confirm", "Please confirm", {"ok": {"type": "boolean"}}, lambda answer: "state-ok", "state")

_TOOLS = {
    "test_simple_text": lambda params: _content(_text("This is a simple text response for testing.")),
    "test_image_content": lambda params: _content({"type": "image", "data": _PNG, "mimeType": "image/png"}),
    "test_audio_content": lambda params: _content({"type": "audio", "data": _WAV, "mimeType": "audio/wav"}),
    "test_embedded_resource": lambda params: _content(
        _resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ),
    "test_multiple_content_types": lambda params: _content(
        _text("Multiple content types test:"),
        {"type": "image", "data": _PNG, "mimeType": "image/png"},
        _resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ),
    "test_error_handling": lambda params: _content(
        _text("This tool intentionally returns an error for testing"), isError=True
    ),
    "test_elicitation": _elicitation,
    "test_elicitation_sep1034_defaults": _asking("form", "Your data", _DEFAULTS, _completed, required=[]),
    "test_elicitation_sep1330_enums": _asking("form", "Your choice", _ENUMS, _completed, required=[]),
    "test_input_required_result_elicitation": _asking(
        "user_name", "What is your name?", _NAME, lambda answer: f"Hello, {answer['content']['name']}!"
    ),
    "test_input_required_result_request_state": _STATE_TOOL,
    "test_input_required_result_tampered_state": _STATE_TOOL,
    "test_input_required_result_multi_round": _multi_round,
    "test_missing_capability": _asking("user_name", "What is your name?", _NAME, _completed),
    # The server looks for requests on the stream of this call.
    "test_streaming_elicitation": _asking("user_name", "What is your name?", _NAME, _completed),
    "test_logging_tool": lambda params: _content(_text("nothing was logged")),
    "json_schema_2020_12_tool": lambda params: _content(_text("called")),
}
_SCHEMAS = {
    "test_elicitation": {
        "type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"],
    },
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
}
_LISTING = {"resultType": "complete", "ttlMs": 60_000, "cacheScope": "private"}


def _describe(name):
    schema = _SCHEMAS.get(name, {"type": "object", "properties": {}})
    return {"name": name, "description": f"The tool {name} of the kit.", "inputSchema": schema}


def _result(message):
    method, params = message["method"], message.get("params", {})
    if method == "server/discover":
        return _LISTING | {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    if method == "tools/list":
        return _LISTING | {"tools": [_describe(name) for name in _TOOLS]}
    if method == "tools/call":
        return _TOOLS[params["name"]](params)
    raise ValueError(method)


class ToolServer:
    """Serves the tools on a port of 127.0.0.1."""

    def __init__(self, port):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                reply = {"jsonrpc": "2.0", "id": message["id"], "result": _result(message)}
                body = json.dumps(reply).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/mcp"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
