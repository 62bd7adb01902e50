"""Messages in the form that requests and answers use."""


def user(text, **fields):
    return {"role": "user", "content": text} | fields


def text_of(message):
    return "".join(block.get("text", "") for block in message["content"])


def texts(messages):
    """The text of each message."""
    return [text_of(message) for message in messages]


def tool_results(messages):
    """The content blocks with results of tools."""
    blocks = [block for message in messages for block in message["content"]]
    return [block for block in blocks if block["type"] == "tool_result"]
