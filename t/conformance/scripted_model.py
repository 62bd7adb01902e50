"""A chat-completions provider that follows a script. Its calls may depend on the tools that it is
offered."""

import json

from harness.http_service import HttpService


class ScriptedModel:
    """`script(tools)` returns the calls of the only turn with calls, as (name, arguments). `tools`
    are the offered tools by name, with their schemas. The next reply is "done"."""

    def __init__(self, script):
        self._script = script
        self.missing = []  # names of tools that the script calls but that were not offered
        self._service = HttpService(self._answer)

    @property
    def base_url(self):
        return self._service.url + "/v1"

    def close(self):
        self._service.close()

    def _answer(self, _, __, body):
        request = json.loads(body)
        newest = request["messages"][-1]
        if newest["role"] == "tool":
            return self._stream({"content": "done"}, "stop")
        tools = {
            tool["function"]["name"]: tool["function"]["parameters"]
            for tool in request.get("tools", [])
        }
        calls = self._script(tools)
        self.missing += [name for name, _ in calls if name not in tools]
        if not calls:
            return self._stream({"content": "done"}, "stop")
        deltas = [
            {
                "index": index,
                "id": f"call_{index}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for index, (name, arguments) in enumerate(calls)
        ]
        return self._stream({"tool_calls": deltas}, "tool_calls")

    @staticmethod
    def _stream(delta, finish_reason):
        def chunk(delta, finish_reason):
            choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
            chunk = {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}
            return f"data: {json.dumps(chunk)}\n\n"

        text = chunk(delta, None) + chunk({}, finish_reason) + "data: [DONE]\n\n"
        return 200, "text/event-stream", text
