"""Messages that refer to uploaded files."""


def reference_to(record, kind="image", nested=False, **fields):
    if nested:
        return {"type": kind, "media": {"kind": "file_id", "file_id": record["file_id"]} | fields}
    return {"type": kind, "file_id": record["file_id"]} | fields


def invoke_with(service, *blocks, headers=(), **fields):
    body = {"messages": [{"role": "user", "content": [{"type": "text", "text": "see"}, *blocks]}]}
    return service.post("/v1/graph/invoke", body | fields, headers=headers)


def settings_of_model(mock):
    return {
        "agent": "graphs/support.json:app",
        "models": {"default": {"provider": "openai", "model": "m", "api_key": "k",
                               "base_url": mock.base_url}},
    }
