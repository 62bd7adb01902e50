"""Members of JSON objects keep the order in which clients, models and configurations wrote them."""

import json

from harness.agents import DEMO
from harness.http_service import HttpService
from harness.messages import tool_results
from harness.service import invocation
from harness.tool_graph import asks, tool_graph

_NAMES = ["zebra", "mango", "apple", "kiwi", "fig"]
_VALUES = {name: {"second": index, "first": index} for index, name in enumerate(_NAMES)}
_ORDERED = json.dumps(_VALUES)
_TOOL = {
    "name": "order_fruit",
    "description": "Orders fruit.",
    "method": "POST",
    "url": "${SHOP}/orders",
    "parameters": {
        "type": "object",
        "properties": {
            name: {"type": "object", "description": "How many.", "additionalProperties": True}
            for name in _NAMES
        },
        "required": ["zebra", "apple"],
    },
}


def test_metadata_and_state_come_back_as_they_were_sent(start_service):
    service = start_service(DEMO)
    assert service.post("/v1/graph/invoke", invocation("hi", config={"thread_id": "t"})).status == 200
    service.post("/v1/threads/t/messages", {
        "config": {}, "metadata": _VALUES,
        "messages": [{"role": "user", "content": "more", "metadata": _VALUES}],
    })
    thread = service.get("/v1/threads/t").json()["data"]["thread_data"]
    kept = [name for name in thread["metadata"] if name in _VALUES]
    assert kept == _NAMES
    assert list(thread["metadata"]["mango"]) == ["second", "first"]
    message = service.get("/v1/threads/t/messages").json()["data"]["messages"][-1]
    assert json.dumps(message["metadata"]) == _ORDERED

    put = service.request("PUT", "/v1/threads/t/state", {"state": {"box": _VALUES, "area": 1}})
    assert put.status == 200, put.text
    state = service.get("/v1/threads/t/state").json()["data"]["state"]
    assert [name for name in state if name in ("box", "area")] == ["box", "area"]
    assert json.dumps(state["box"]) == _ORDERED


def test_tools_meet_their_schema_and_arguments_in_order(make_service, start_mock_provider):
    shop = HttpService(lambda *_: (200, "application/json", _ORDERED))
    try:
        mock = start_mock_provider(asks("fruit", ("order_fruit", _VALUES)))
        model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
        service = make_service(
            {"agent": "tools.json:app", "env": ".env", "models": {"default": model}},
            files={"tools.json": json.dumps(tool_graph(tools=[_TOOL]))},
        )
        service.write(".env", f"SHOP={shop.url}\n")
        service.start()
        reply = service.post("/v1/graph/invoke", invocation("fruit"))
        assert reply.status == 200, reply.text
        requests = mock.chat_requests()
        schema = requests[0]["body"]["tools"][0]["function"]["parameters"]
        assert json.dumps(schema) == json.dumps(_TOOL["parameters"])
        assert json.dumps(shop.requests[0]["body"]) == _ORDERED
        results = tool_results(reply.json()["data"]["messages"])
        assert json.dumps(results[0]["output"]) == _ORDERED
        calls = requests[-1]["body"]["messages"]
        arguments = [m["tool_calls"][0]["function"]["arguments"] for m in calls if m.get("tool_calls")]
        assert json.dumps(json.loads(arguments[0])) == _ORDERED
    finally:
        shop.close()
