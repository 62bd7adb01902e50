// The rows of a trace's waterfall. A trace has the ends of steps and calls; a step begins where the one
// before has ended, and a call where its step or the call before it has.
import type {Span, Trace, TraceEvent} from "../api/runs";

export interface Row {
  id: string;
  kind: "run" | "node" | "model" | "tool";
  name: string;
  node: string;
  start: number; // milliseconds after the begin of the run
  end: number;
  open: boolean; // has not ended
  span: Span | null;
}

function isStepEnd(event: TraceEvent): boolean {
  return event.type === "updates" && event.node !== "";
}

const TOOL = "tool: ";

function callRow(span: Span, node: string, start: number): Row {
  const isTool = span.kind === "tool";
  return {
    id: span.id,
    kind: isTool ? "tool" : "model",
    name: isTool ? span.name.replace(TOOL, "") : (span.model ?? "model"),
    node,
    start,
    end: Math.max(start, span.start_ms + span.duration_ms),
    open: false,
    span,
  };
}

// The calls whose end is in a step. Model calls follow each other; tools of a step run side by side.
function callsOf(calls: Span[], node: string, start: number, end: number): Row[] {
  let begin = start;
  return calls
    .filter(({start_ms}) => start_ms >= start && start_ms <= end)
    .map((span) => {
      const row = callRow(span, node, span.kind === "tool" ? start : begin);
      if (span.kind === "llm") begin = row.end;
      return row;
    });
}

export function rowsOf(trace: Trace, now: number): Row[] {
  const running = trace.status === "running";
  const end = running ? Math.max(trace.duration_ms, now - trace.started_at * 1000) : trace.duration_ms;
  const root: Row = {
    id: "root",
    kind: "run",
    name: "Run",
    node: "",
    start: 0,
    end,
    open: running,
    span: null,
  };
  const rows = [root];
  const calls = trace.spans.filter(({kind}) => kind === "llm" || kind === "tool");
  let start = 0;
  for (const event of [...trace.events].reverse().filter(isStepEnd)) {
    const step: Row = {
      id: event.id,
      kind: "node",
      name: event.node,
      node: event.node,
      start,
      end: event.offset_ms,
      open: false,
      span: null,
    };
    rows.push(step, ...callsOf(calls, event.node, start, event.offset_ms));
    // A call at this very moment belongs to the step that has ended.
    while (calls[0] && calls[0].start_ms <= event.offset_ms) calls.shift();
    start = event.offset_ms;
  }
  if (running) rows.push({...root, id: "now", kind: "node", name: "in progress", start});
  return rows;
}

// The step that took longest, if it took a good part of the run.
export function slowestOf(rows: Row[]): Row | null {
  const [run, ...others] = rows;
  if (!run || others.length === 0) return null;
  const leaves = others.filter(
    (row) => row.kind !== "node" || !others.some((call) => call.kind !== "node" && inside(call, row)),
  );
  const slowest = leaves.reduce(
    (best, row) => (row.end - row.start > best.end - best.start ? row : best),
    leaves[0] as Row,
  );
  return slowest.end - slowest.start > (run.end - run.start) / 3 ? slowest : null;
}

function inside(call: Row, step: Row): boolean {
  return call.node === step.node && call.start >= step.start && call.end <= step.end;
}
