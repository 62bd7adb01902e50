// The state of the run, and what the last one has used.
import {runRecord} from "../api/runs";
import {duration, number, plural} from "../base/format";
import {href} from "../base/route";
import {useLoad} from "../widgets/states";
import type {Progress} from "./conversation";

function textOf({connection, stopping, node}: Progress): string {
  if (connection === "lost") return "The connection is lost. Trying again…";
  if (stopping) return "Stopping…";
  if (connection === "sending") return "Sending…";
  return node ? `${node} is working` : "Working…";
}

export function RunProgress({progress}: {progress: Progress}) {
  const {connection, attempt} = progress;
  return (
    <output class={`progress ${connection}`}>
      <span class="spinner" aria-hidden="true" />
      <span>{textOf(progress)}</span>
      {attempt > 1 && <span class="tag">attempt {attempt}</span>}
    </output>
  );
}

export function RunSummary({threadId, runId}: {threadId: string; runId: string}) {
  const {value} = useLoad((signal) => runRecord(threadId, runId, signal), [threadId, runId]);
  if (!value) return null;
  const {usage, started_at, finished_at, attempt} = value;
  const took = started_at && finished_at ? Date.parse(finished_at) - Date.parse(started_at) : null;
  const tokens = (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
  const parts = [
    took !== null && duration(took),
    tokens > 0 && plural(tokens, "token"),
    usage?.model_calls && plural(usage.model_calls, "model call"),
    usage?.tool_calls && plural(usage.tool_calls, "tool call"),
    usage?.cost_usd && `$${number(usage.cost_usd)}`,
    attempt > 1 && `attempt ${attempt}`,
  ].filter(Boolean);
  return (
    <p class="summary">
      <span>{parts.join(" · ")}</span> <a href={href("runs", threadId, runId)}>Trace</a>
    </p>
  );
}
