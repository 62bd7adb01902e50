"""Programs of users of agent frameworks: the OpenAI Agents SDK and Pydantic AI, whose models are the service and
whose tools are functions of the user, and both as clients of the Model Context Protocol.
Usage: frameworks_client.py SCENARIO BASE_URL KEY; prints the result as JSON."""

import asyncio
import json
import sys
import tempfile

import agents
import agents.mcp
import openai
import pydantic_ai
import pydantic_ai.mcp
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

agents.set_tracing_disabled(True)


class Service:
    def __init__(self, base_url, key):
        self.base_url = base_url
        self.mcp_url = base_url.replace("/openai/v1", "/mcp")
        self.key = key
        self.headers = {"Authorization": f"Bearer {key}"}
        self.client = openai.AsyncOpenAI(base_url=base_url, api_key=key, max_retries=0)


@agents.function_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


def _agent(service, kind, **options):
    models = {"chat": agents.OpenAIChatCompletionsModel, "responses": agents.OpenAIResponsesModel}
    model = models[kind](model="app", openai_client=service.client)
    return agents.Agent(name="A", instructions="Be brief.", model=model, tools=[get_weather], **options)


async def _openai_agents(service, kind):
    agent = _agent(service, kind)
    plain = await agents.Runner.run(agent, "plain")
    tools = await agents.Runner.run(agent, "weather")
    streamed = agents.Runner.run_streamed(agent, "weather")
    events = [event.type async for event in streamed.stream_events()]
    demanding = _agent(service, kind, model_settings=agents.ModelSettings(tool_choice="required"))
    demanded = await agents.Runner.run(demanding, "weather")
    with tempfile.TemporaryDirectory() as folder:
        session = agents.SQLiteSession("s", f"{folder}/sessions.db")
        await agents.Runner.run(agent, "plain", session=session)
        second = await agents.Runner.run(agent, "weather", session=session)
        session.close()
    answers = [run.final_output for run in (plain, tools, streamed, demanded, second)]
    return answers + [len(tools.new_items), "run_item_stream_event" in events]


async def openai_agents_chat(service):
    return await _openai_agents(service, "chat")


async def openai_agents_responses(service):
    return await _openai_agents(service, "responses")


async def openai_agents_previous_response(service):
    """The framework names the response before and sends only what is new."""
    agent = _agent(service, "responses")
    run = await agents.Runner.run(agent, "weather", auto_previous_response_id=True)
    following = await agents.Runner.run(agent, "plain", previous_response_id=run.last_response_id)
    return [run.final_output, following.final_output]


async def openai_agents_conversation(service):
    """A conversation of the service that the framework continues, and one that it uses as its own session."""
    agent = _agent(service, "responses")
    conversations = service.client.conversations
    kept = await conversations.create()
    run = await agents.Runner.run(agent, "weather", conversation_id=kept.id)
    following = await agents.Runner.run(agent, "plain", conversation_id=kept.id)
    items = [item.type async for item in conversations.items.list(kept.id, order="asc")]
    session = agents.OpenAIConversationsSession(openai_client=service.client)
    answers = [
        (await agents.Runner.run(agent, text, session=session)).final_output for text in ("weather", "plain")
    ]
    stored = await session.get_items()
    latest = await session.get_items(limit=2)
    popped = await session.pop_item()
    left = len(await session.get_items())
    await session.add_items([{"role": "user", "content": str(number)} for number in range(25)])
    numbers = [item["content"][0]["text"] for item in (await session.get_items())[left:]]
    await session.clear_session()
    return [[run.final_output, following.final_output, *answers], items, [item["type"] for item in stored],
            latest == stored[-2:], popped == stored[-1], len(stored) - left,
            numbers == [str(number) for number in range(25)]]


async def openai_agents_mcp(service):
    parameters = {"url": service.mcp_url, "headers": service.headers}
    async with agents.mcp.MCPServerStreamableHttp(params=parameters) as server:
        tools = await server.list_tools()
        result = await server.call_tool("app", {"message": "plain"})
    return [[tool.name for tool in tools], result.content[0].text, result.is_error]


def _pydantic_agent(service, model):
    provider = OpenAIProvider(base_url=service.base_url, api_key=service.key)
    agent = pydantic_ai.Agent(model("app", provider=provider), system_prompt="Be brief.")
    agent.tool_plain(_weather)
    return agent


def _weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


_weather.__name__ = "get_weather"


async def _pydantic(service, model):
    agent = _pydantic_agent(service, model)
    plain = await agent.run("plain")
    tools = await agent.run("weather")
    async with agent.run_stream("weather") as streamed:
        text = [piece async for piece in streamed.stream_text()][-1]
    following = await agent.run("plain", message_history=tools.all_messages())
    return [plain.output, tools.output, text, following.output]


async def pydantic_ai_chat(service):
    return await _pydantic(service, OpenAIChatModel)


async def pydantic_ai_responses(service):
    return await _pydantic(service, OpenAIResponsesModel)


async def _main():
    scenarios, base_url, key = sys.argv[1:]
    return {name: await globals()[name](Service(base_url, key)) for name in scenarios.split(",")}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_main())))
