import {duration} from "../base/format";
import {Icon} from "../widgets/icon";
import {JsonView} from "../widgets/json";
import type {CallBlock, Result} from "./calls";

interface Props {
  call: CallBlock;
  result: Result | undefined;
  calledAt: number | undefined;
  running: boolean;
}

function stateOf({result, running}: Props): "failed" | "done" | "running" | "waiting" {
  if (result) return result.block.is_error ? "failed" : "done";
  return running ? "running" : "waiting";
}

function summary(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text && text !== "{}" ? text : "";
}

export function ToolCard(props: Props) {
  const {call, result, calledAt} = props;
  const state = stateOf(props);
  const took = result?.at && calledAt ? duration((result.at - calledAt) * 1000) : null;
  return (
    <details class={`tool ${state}`}>
      <summary>
        <Icon name="tool" />
        <b>{call.name}</b>
        <code class="short">{summary(call.args)}</code>
        <span class="state">{state}</span>
        {took && <span class="took">{took}</span>}
      </summary>
      <p class="label">Arguments</p>
      <JsonView value={call.args ?? {}} label={`Arguments of ${call.name}`} />
      {result && (
        <>
          <p class="label">{result.block.is_error ? "Error" : "Result"}</p>
          <JsonView value={result.block.output ?? null} label={`Result of ${call.name}`} />
        </>
      )}
    </details>
  );
}
