import {useEffect, useMemo, useState} from "preact/hooks";
import {firstTokenOf} from "../api/first_tokens";
import {cancelRun, type RunRecord, runRecord, type Trace, traceOf} from "../api/runs";
import {duration, moment, number, plural} from "../base/format";
import {href} from "../base/route";
import {Button} from "../widgets/button";
import {CopyButton} from "../widgets/copy";
import {Empty, ErrorNote, Panel, useLoad} from "../widgets/states";
import {Tabs} from "../widgets/tabs";
import {curlOf} from "./curl";
import {Events, useLines} from "./events";
import {RowDetails} from "./row_details";
import {StatusTag} from "./status";
import {rowsOf, slowestOf} from "./steps";
import {Waterfall} from "./waterfall";

const TABS = ["Waterfall", "Raw events"];
const REFRESH_MS = 500;
const RETRY_MS = 2000;
const ACTIVE = new Set(["queued", "running"]);

interface Both {
  record: RunRecord;
  trace: Trace | null;
}

function Facts({record}: {record: RunRecord}) {
  const {thread_id, run_id, status, reason, attempt, resumes, usage, created_at} = record;
  const wait = firstTokenOf(run_id);
  const facts = [
    moment(created_at),
    usage?.model_calls && plural(usage.model_calls, "model call"),
    usage?.tool_calls && plural(usage.tool_calls, "tool call"),
    usage?.input_tokens && `${number(usage.input_tokens)} → ${number(usage.output_tokens ?? 0)} tokens`,
    usage?.cost_usd && `$${usage.cost_usd.toFixed(4)}`,
    wait !== null && `first token after ${duration(wait)}`,
  ].filter(Boolean);
  return (
    <p class="facts-line">
      <StatusTag status={status} />
      {attempt > 1 && <span class="tag warn">attempt {attempt}</span>}
      {reason && <span class="tag bad">{reason}</span>}
      <span class="detail">{facts.join(" · ")}</span>
      {resumes && <a href={href("runs", thread_id, resumes)}>continues an earlier run</a>}
      <a href={href("chat", thread_id)}>Chat</a>
    </p>
  );
}

function CancelButton({record, onError}: {record: RunRecord; onError: (error: unknown) => void}) {
  const leaving = useMemo(() => new AbortController(), []);
  useEffect(() => () => leaving.abort(), [leaving]);
  const cancel = () => {
    onError(null);
    cancelRun(record.thread_id, record.run_id, leaving.signal).catch(
      (error) => !leaving.signal.aborted && onError(error),
    );
  };
  return <Button icon="stop" label="Cancel" onClick={cancel} />;
}

function Panes({record, trace}: Both) {
  const [selected, setSelected] = useState<string | null>(null);
  const [tab, setTab] = useState("Waterfall");
  const [error, setError] = useState<unknown>(null);
  const lines = useLines(record.thread_id, record.run_id);
  const rows = trace ? rowsOf(trace, Date.now()) : [];
  const row = rows.find(({id}) => id === selected) ?? rows[0];
  const startedAt = trace?.started_at ?? Date.parse(record.created_at) / 1000;
  return (
    <>
      <div class="tabs">
        <Tabs tabs={TABS} current={tab} onChange={setTab} />
        <CopyButton text={curlOf(record.thread_id, record.run_id)} label="Copy as curl" hideLabel={false} />
        {ACTIVE.has(record.status) && <CancelButton record={record} onError={setError} />}
      </div>
      {error !== null && <ErrorNote error={error} />}
      {lines.error !== null && <ErrorNote error={lines.error} />}
      {tab === "Raw events" ? (
        <Events lines={lines.lines} reading={lines.reading} startedAt={startedAt} />
      ) : row ? (
        <div class="split">
          <Waterfall rows={rows} slowest={slowestOf(rows)} selected={row.id} onSelect={setSelected} />
          <aside class="side" aria-label="Details">
            <RowDetails row={row} lines={lines.lines} startedAt={startedAt} />
          </aside>
        </div>
      ) : (
        <Empty title="No trace">
          <p>The service keeps no traces with MODE=production. The raw events are here all the same.</p>
        </Empty>
      )}
    </>
  );
}

export function TraceView({threadId, runId}: {threadId: string; runId: string}) {
  const loaded = useLoad<Both>(
    async (signal) => {
      const [record, trace] = await Promise.all([
        runRecord(threadId, runId, signal),
        traceOf(threadId, runId, signal),
      ]);
      return {record, trace};
    },
    [threadId, runId],
  );
  const active = ACTIVE.has(loaded.value?.record.status ?? "");
  useEffect(() => {
    if (!active || loaded.loading) return;
    const timer = setTimeout(loaded.reload, loaded.error ? RETRY_MS : REFRESH_MS);
    return () => clearTimeout(timer);
  }, [active, loaded.loading]);
  // What is known of the run stays when it cannot be read again.
  const known = loaded.value !== null;
  return (
    <section class="trace" aria-label="Run">
      {known && loaded.error !== null && <ErrorNote error={loaded.error} />}
      <Panel of={known ? {...loaded, error: null} : loaded}>
        {(both) => (
          <>
            <Facts record={both.record} />
            <Panes key={runId} {...both} />
          </>
        )}
      </Panel>
    </section>
  );
}
