import {useEffect} from "preact/hooks";
import {type RunRecord, runsOf} from "../api/runs";
import {listThreads} from "../api/threads";
import {duration, moment} from "../base/format";
import {shortId} from "../base/random";
import {complete, go, href} from "../base/route";
import type {PageProps} from "../pages";
import {More, usePaged} from "../widgets/paged";
import {Empty, Panel} from "../widgets/states";
import {StatusTag} from "./status";
import {TraceView} from "./trace";

function took({started_at, finished_at}: RunRecord): string {
  return started_at && finished_at ? duration(Date.parse(finished_at) - Date.parse(started_at)) : "";
}

function RunList({threadId, current}: {threadId: string; current: string | undefined}) {
  const runs = usePaged((cursor, signal) => runsOf(threadId, cursor, signal), [threadId], [current]);
  const first = runs.value?.[0];
  useEffect(() => {
    if (!current && first?.thread_id === threadId) complete("runs", threadId, first.run_id);
  }, [current, first, threadId]);
  return (
    <>
      <Panel of={runs}>
        {(found) =>
          found.length === 0 ? (
            <p class="detail">This thread has no runs.</p>
          ) : (
            <ul class="links">
              {found.map((run) => (
                <li key={run.run_id}>
                  <a
                    href={href("runs", threadId, run.run_id)}
                    aria-current={run.run_id === current ? "true" : undefined}
                  >
                    <span class="line">
                      <StatusTag status={run.status} />
                      <span class="grow" />
                      <span class="detail">{took(run)}</span>
                    </span>
                    <time>{moment(run.created_at)}</time>
                  </a>
                </li>
              ))}
            </ul>
          )
        }
      </Panel>
      <More of={runs} />
    </>
  );
}

export function Page({ids}: PageProps) {
  const [wanted, runId] = ids;
  const threads = usePaged((cursor, signal) => listThreads({cursor}, signal), []);
  const threadId = wanted ?? threads.value?.[0]?.thread_id;
  const known = threads.value?.map(({thread_id}) => thread_id) ?? [];
  return (
    <div class="page">
      <header class="top">
        <h1>Runs</h1>
        {threadId && (
          <label class="inline">
            <span>Thread</span>
            <select value={threadId} onChange={(event) => go("runs", event.currentTarget.value)}>
              {[...new Set([threadId, ...known])].map((id) => (
                <option key={id} value={id}>
                  {shortId(id)}
                </option>
              ))}
            </select>
          </label>
        )}
        <More of={threads} label="More threads" />
      </header>
      <Panel of={threads}>
        {() =>
          threadId ? (
            <div class="master">
              <nav class="column" aria-label="Runs">
                <RunList threadId={threadId} current={runId} />
              </nav>
              {runId ? (
                <TraceView key={runId} threadId={threadId} runId={runId} />
              ) : (
                <Empty title="Choose a run" />
              )}
            </div>
          ) : (
            <Empty title="No runs yet">
              <p>Say something in Chat.</p>
            </Empty>
          )
        }
      </Panel>
    </div>
  );
}
