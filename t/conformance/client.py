"""The client under test, as the kit's client scenarios start it: `client.py SERVER_URL`.

A real nginx serves a graph whose tool node uses that server. A scripted model makes the scenario's
calls, and the server's questions to the user are answered over the HTTP API. Exit code 0: the run
ended and no call failed."""

import json
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "http"))

from harness.service import Service, invocation  # noqa: E402
from harness.tool_graph import tool_graph  # noqa: E402

from scripted_model import ScriptedModel  # noqa: E402
from scripts import script_of, server_keys  # noqa: E402

_ROUNDS_MAX = 8  # limit of the server's rounds of questions to the user


def _answers(elicitations):
    """Accepts each form unchanged, so that its defaults apply."""
    return [
        {
            "type": "tool_result",
            "call_id": elicitation["id"],
            "output": {"action": "accept", "content": {}},
        }
        for elicitation in elicitations
    ]


def _invoke(service, body):
    reply = service.post("/v1/graph/invoke", body | {"response_granularity": "full"})
    if reply.status != 200:
        raise SystemExit(f"invoke: {reply.status} {reply.text}")
    return reply.json()["data"]


def _run(service):
    config = {"thread_id": "conformance"}
    data = _invoke(service, invocation("go", config=config))
    for _ in range(_ROUNDS_MAX):
        interrupt = data["state"]["execution_meta"].get("interrupt")
        if not interrupt:
            return data["messages"]
        message = {"role": "tool", "content": _answers(interrupt["data"]["elicitations"])}
        data = _invoke(service, {"messages": [message], "config": config})
    raise SystemExit("the server asks without end")


def _failures(messages):
    return [
        block["output"]
        for message in messages
        for block in message["content"]
        if block["type"] == "tool_result" and block["is_error"]
    ]


def main(url):
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    model = ScriptedModel(script_of(scenario, context))
    directory = pathlib.Path(tempfile.mkdtemp(prefix="agent-graph-conformance-"))
    directory.chmod(0o755)
    keys, variables = server_keys(scenario, context)
    graph = tool_graph(mcp_servers=[{"name": "kit", "url": url} | keys])
    settings = {
        "agent": "tools.json:app",
        "env": ".env",
        "models": {"default": {"provider": "openai", "model": "m", "base_url": model.base_url}},
    }
    service = Service(directory, settings, workers=1)
    service.write("tools.json", json.dumps(graph))
    service.write(".env", "".join(f"{name}={value}\n" for name, value in variables.items()))
    try:
        service.start()
        failures = _failures(_run(service))
        for failure in failures:
            print("a call failed:", json.dumps(failure), file=sys.stderr)
        for missing in model.missing:
            print("the model was offered no tool", missing, file=sys.stderr)
        print(service.error_log.text(), file=sys.stderr)
        return 1 if failures or model.missing else 0
    finally:
        service.quit()
        service.wait_until_gone()
        model.close()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[-1]))
