import {useEffect, useState} from "preact/hooks";
import type {Message} from "../api/messages";
import {readMessages} from "../api/threads";
import {moment, pretty} from "../base/format";
import {JsonView} from "../widgets/json";
import {Empty, ErrorNote, Loading} from "../widgets/states";
import {VirtualList} from "../widgets/virtual";

function preview(message: Message): string {
  const texts = message.content.map((block) => {
    if (block.type === "text") return block.text;
    if (block.type === "tool_call" || block.type === "remote_tool_call")
      return `${block.name} ${JSON.stringify(block.args ?? {})}`;
    if (block.type === "tool_result") return pretty(block.output).replace(/\s+/g, " ");
    return block.type;
  });
  return texts.join(" ").slice(0, 300);
}

export function History({threadId}: {threadId: string}) {
  const [messages, setMessages] = useState<Message[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const leaving = new AbortController();
    setMessages(null);
    readMessages(threadId, leaving.signal, (page) => setMessages((old) => [...(old ?? []), ...page])).catch(
      (reason) => !leaving.signal.aborted && setError(reason),
    );
    return () => leaving.abort();
  }, [threadId]);
  if (error) return <ErrorNote error={error} />;
  if (!messages) return <Loading />;
  if (messages.length === 0) return <Empty title="No messages" />;
  const render = (message: Message) => (
    <details class="event">
      <summary>
        <span class={`tag ${message.role === "user" ? "live" : ""}`}>{message.role}</span>
        <span class="preview">{preview(message)}</span>
        <time>{moment(message.timestamp)}</time>
      </summary>
      <JsonView value={message} label="Message" />
    </details>
  );
  return (
    <VirtualList
      items={messages}
      keyOf={({message_id}) => message_id}
      estimate={36}
      label="History"
      render={render}
    />
  );
}
