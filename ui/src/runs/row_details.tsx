// The details of one row of the waterfall.
import type {Message} from "../api/messages";
import {duration, number, pretty} from "../base/format";
import {JsonView} from "../widgets/json";
import {Markdown} from "../widgets/markdown";
import type {Line} from "./events";
import type {Row} from "./steps";

// Messages that were written while the row was in progress.
function messagesOf(row: Row, lines: Line[], startedAt: number): Message[] {
  return lines
    .filter(({chunk}) => {
      const at = (chunk.timestamp - startedAt) * 1000;
      const near = at >= row.start - 1 && at <= row.end + 1;
      return chunk.message && near && (row.kind === "run" || chunk.metadata?.node === row.node);
    })
    .flatMap(({chunk}) => chunk.message ?? []);
}

function MessageBlocks({message}: {message: Message}) {
  return (
    <>
      {message.content.map((block, i) => {
        if (block.type === "text") return <Markdown key={i} text={block.text} />;
        if (block.type === "tool_call" || block.type === "remote_tool_call") {
          return (
            <div key={i}>
              <p class="label">calls {block.name}</p>
              <JsonView value={block.args ?? {}} label={`Arguments of ${block.name}`} />
            </div>
          );
        }
        if (block.type === "tool_result") {
          return (
            <div key={i}>
              <p class="label">{block.is_error ? "failed with" : "result"}</p>
              <JsonView value={pretty(block.output)} label="Result" />
            </div>
          );
        }
        return <JsonView key={i} value={block} label={block.type} />;
      })}
    </>
  );
}

export function RowDetails({row, lines, startedAt}: {row: Row; lines: Line[]; startedAt: number}) {
  const messages = messagesOf(row, lines, startedAt);
  const {span} = row;
  return (
    <div class="details">
      <h2>{row.name}</h2>
      <dl class="facts">
        <dt>Began</dt>
        <dd>after {duration(row.start)}</dd>
        <dt>Took</dt>
        <dd>{duration(row.end - row.start)}</dd>
        {span?.input_tokens != null && (
          <>
            <dt>Tokens</dt>
            <dd>
              {number(span.input_tokens)} in, {number(span.output_tokens ?? 0)} out
            </dd>
          </>
        )}
      </dl>
      {messages.length > 0 && <h3>{row.kind === "tool" ? "Results" : "Messages"}</h3>}
      {messages.map((message) => (
        <MessageBlocks key={message.message_id} message={message} />
      ))}
    </div>
  );
}
