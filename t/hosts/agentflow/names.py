"""Names threads after their first message. See make_dump.py."""

from agentflow_cli.src.app.utils.thread_name_generator import ThreadNameGenerator


class Names(ThreadNameGenerator):
    async def generate_name(self, messages):
        return f"About {messages[0]}"
