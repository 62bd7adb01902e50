import {memo} from "preact/compat";
import {useLayoutEffect, useRef, useState} from "preact/hooks";
import {type Block, type Message, textOf} from "../api/messages";
import {moment} from "../base/format";
import {Button} from "../widgets/button";
import {CopyButton} from "../widgets/copy";
import {Markdown} from "../widgets/markdown";
import {isCall, type Result} from "./calls";
import type {Entry} from "./conversation";
import {Media} from "./media";
import {ToolCard} from "./tool_card";

const EDIT = "Edit and send again";

export interface MessageActions {
  resend: (messageId: string, content: Block[]) => void;
  fork: (messageId: string) => void;
}

interface Props {
  entry: Entry;
  results: Map<string, Result>;
  running: boolean; // the run goes on, and this is the last message
  busy: boolean; // the thread takes no changes now
  actions: MessageActions;
}

function reasoningOf(message: Message): string {
  const texts = message.content.map((block) =>
    block.type === "reasoning" ? [block.summary, ...(block.details ?? [])].filter(Boolean).join("\n\n") : "",
  );
  return texts.filter(Boolean).join("\n\n") || (message.reasoning ?? "");
}

function BlockView({
  block,
  message,
  results,
  running,
}: {
  block: Block;
  message: Message;
  results: Map<string, Result>;
  running: boolean;
}) {
  if (block.type === "text")
    return message.role === "assistant" ? <Markdown text={block.text} /> : <p class="plain">{block.text}</p>;
  if (isCall(block))
    return (
      <ToolCard call={block} result={results.get(block.id)} calledAt={message.timestamp} running={running} />
    );
  if (block.type === "error") return <p class="note error">{block.message}</p>;
  if (block.type === "image" || block.type === "audio" || block.type === "video" || block.type === "document")
    return <Media block={block} />;
  return null;
}

function Editor({
  text,
  busy,
  onSave,
  onCancel,
}: {
  text: string;
  busy: boolean;
  onSave: (text: string) => void;
  onCancel: () => void;
}) {
  const [value, setValue] = useState(text);
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  return (
    <form
      class="edit"
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy && value.trim()) onSave(value);
      }}
    >
      <textarea
        aria-label="Edit the message"
        rows={Math.min(10, value.split("\n").length + 1)}
        value={value}
        ref={field}
        onInput={(event) => setValue(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && onCancel()}
      />
      <div class="actions">
        <Button label="Cancel" onClick={onCancel} />
        <Button label="Send again" kind="main" type="submit" disabled={busy} />
      </div>
    </form>
  );
}

interface ToolsProps {
  message: Message;
  busy: boolean;
  actions: MessageActions;
  onEdit: () => void;
}

function MessageTools({message, busy, actions, onEdit}: ToolsProps) {
  const {message_id, role, content, timestamp} = message;
  const resend = () => actions.resend(message_id, content);
  const fork = () => actions.fork(message_id);
  return (
    <div class="tools">
      <time>{moment(timestamp)}</time>
      <CopyButton text={textOf(message)} label="Copy" />
      {role === "user" && !busy && (
        <>
          <Button icon="edit" label={EDIT} kind="quiet" hideLabel onClick={onEdit} />
          <Button icon="retry" label="Send again" kind="quiet" hideLabel onClick={resend} />
        </>
      )}
      {!busy && (
        <Button
          icon="fork"
          label="Continue from here in a new thread"
          kind="quiet"
          hideLabel
          onClick={fork}
        />
      )}
    </div>
  );
}

export const MessageView = memo(function MessageView({entry, results, running, busy, actions}: Props) {
  const {message, stage} = entry;
  const [editing, setEditing] = useState(false);
  const article = useRef<HTMLElement>(null);
  const wasEditing = useRef(false);
  // The editor has taken the focus away from its button. The focus returns before the page is drawn, so
  // that no key pressed meanwhile is lost.
  useLayoutEffect(() => {
    const cancelled = wasEditing.current && !editing && document.activeElement === document.body;
    if (cancelled) article.current?.querySelector<HTMLElement>(`[aria-label="${EDIT}"]`)?.focus();
    wasEditing.current = editing;
  }, [editing]);
  const reasoning = reasoningOf(message);
  const text = textOf(message);
  const save = (changed: string) => {
    setEditing(false);
    const others = message.content.filter((block) => block.type !== "text");
    actions.resend(message.message_id, [{type: "text", text: changed}, ...others]);
  };
  return (
    <article
      ref={article}
      class={`message ${message.role} ${stage}`}
      aria-label={message.role}
      aria-busy={stage !== "whole"}
    >
      {reasoning && (
        <details class="reasoning">
          <summary>Reasoning</summary>
          <Markdown text={reasoning} />
        </details>
      )}
      {editing ? (
        <Editor text={text} busy={busy} onSave={save} onCancel={() => setEditing(false)} />
      ) : (
        <div class="content">
          {message.content.map((block, i) => (
            <BlockView key={i} block={block} message={message} results={results} running={running} />
          ))}
        </div>
      )}
      {stage === "whole" && !editing && text && (
        <MessageTools message={message} busy={busy} actions={actions} onEdit={() => setEditing(true)} />
      )}
    </article>
  );
});
