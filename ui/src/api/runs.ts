// Runs: start one, follow it, read its record and its trace.
import {lines} from "./lines";
import type {Chunk, Outcome, Usages} from "./messages";
import type {ListPage} from "./pages";
import {ApiError, call, path, send} from "./request";

export interface Budget {
  tokens?: number;
  cost_usd?: number;
  seconds?: number;
  model_calls?: number;
  tool_calls?: number;
}

// A message to send. The service gives it an id.
export interface NewMessage {
  role: "user" | "tool";
  content: unknown;
}

export interface ToolDecision {
  call_id: string;
  action: "retry" | "skip" | "result";
  result?: unknown;
}

export interface RunRequest {
  messages?: NewMessage[];
  tool_decisions?: ToolDecision[];
  initial_state?: unknown;
  config: {thread_id: string; run_id: string; budget?: Budget; on_busy?: string};
}

export interface RunUsage {
  input_tokens?: number;
  output_tokens?: number;
  model_calls?: number;
  tool_calls?: number;
  cost_usd?: number;
}

export interface RunRecord {
  run_id: string;
  thread_id: string;
  status: "queued" | "running" | "interrupted" | Outcome;
  reason: string | null;
  attempt: number;
  resumes: string | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  usage: RunUsage | null;
  current_node: string | null;
  step: number | null;
}

export interface Span {
  id: string;
  name: string;
  kind: "root" | "node" | "llm" | "tool";
  parent: string | null;
  start_ms: number;
  duration_ms: number;
  model: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
}

export interface TraceEvent {
  id: string;
  type: string;
  node: string;
  offset_ms: number;
  summary: string;
}

export interface Trace {
  run_id: string;
  status: string;
  started_at: number;
  duration_ms: number;
  spans: Span[];
  events: TraceEvent[]; // the newest first
  usage: Usages;
  llm_calls: number;
  tool_calls: number;
}

const ATTEMPTS_MAX = 60;

// Makes a request again while its failure may be temporary.
async function repeated<T>(request: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 0; ; ++attempt) {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof ApiError) || !error.mayBeRepeated || attempt >= ATTEMPTS_MAX) throw error;
      await pause(attempt, signal);
    }
  }
}

// Sends the run until the server has it. A repetition is harmless: its key makes it the same run.
export async function startRun(request: RunRequest, signal: AbortSignal): Promise<void> {
  const options = {body: request, headers: {"Idempotency-Key": request.config.run_id}, signal};
  await repeated(() => send("POST", "/v1/graph/runs", options), signal);
}

// Waits longer after each failure, at most 2 seconds, or until the network is back.
export function pause(attempt: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const finished = new AbortController();
    const end = (settle: () => void) => {
      clearTimeout(timer);
      finished.abort();
      settle();
    };
    const timer = setTimeout(() => end(resolve), Math.min(100 * 2 ** attempt, 2000));
    addEventListener("online", () => end(resolve), {signal: finished.signal});
    signal.addEventListener("abort", () => end(() => reject(signal.reason)), {signal: finished.signal});
  });
}

// The lines of a run from a cursor on, as long as the connection lasts.
async function* readRun(
  threadId: string,
  runId: string,
  cursor: string,
  signal: AbortSignal,
): AsyncGenerator<Chunk> {
  const query = `?cursors=all&after=${encodeURIComponent(cursor)}`;
  const response = await send("GET", path`/v1/threads/${threadId}/runs/${runId}/stream` + query, {
    headers: {Accept: "application/x-ndjson"},
    signal,
  });
  yield* lines<Chunk>(response);
}

// The lines of a run to its end. After a cut it goes on where it was; `onCut` is called before it tries again.
export async function* followRun(
  threadId: string,
  runId: string,
  signal: AbortSignal,
  onCut: () => void = () => {},
): AsyncGenerator<Chunk> {
  let cursor = "-1";
  for (let attempt = 0; ; ++attempt) {
    try {
      for await (const chunk of readRun(threadId, runId, cursor, signal)) {
        attempt = 0;
        cursor = chunk.metadata?.cursor ?? cursor;
        yield chunk;
        if (chunk.event === "updates" && chunk.data?.status === "done") return;
      }
    } catch (error) {
      if (signal.aborted || (error instanceof ApiError && !error.mayBeRepeated)) throw error;
    }
    onCut();
    await pause(attempt, signal);
  }
}

// The newest come first.
export async function runsOf(
  threadId: string,
  cursor = "",
  signal?: AbortSignal,
  limit = 50,
): Promise<ListPage<RunRecord>> {
  const query = `?limit=${limit}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`;
  const address = path`/v1/threads/${threadId}/runs` + query;
  const page = await call<{runs: RunRecord[]; next_cursor: string | null}>("GET", address, undefined, signal);
  return {items: page.runs, next: page.next_cursor};
}

export function runRecord(threadId: string, runId: string, signal?: AbortSignal) {
  return call<RunRecord>("GET", path`/v1/threads/${threadId}/runs/${runId}`, undefined, signal);
}

// Ends the run. False: the service does not have it.
export async function cancelRun(threadId: string, runId: string, signal: AbortSignal): Promise<boolean> {
  const address = path`/v1/threads/${threadId}/runs/${runId}/cancel`;
  try {
    await repeated(() => call("POST", address, undefined, signal), signal);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}

// Null: the service keeps no traces, as with MODE=production.
export async function traceOf(threadId: string, runId: string, signal?: AbortSignal): Promise<Trace | null> {
  const query = `?run_id=${encodeURIComponent(runId)}`;
  const {run} = await call<{run: Trace | null}>(
    "GET",
    path`/v1/observability/${threadId}` + query,
    undefined,
    signal,
  );
  return run;
}
