// The node that runs now: that of the run which the service has begun last.
import {useEffect, useState} from "preact/hooks";
import {runsOf} from "../api/runs";
import {listThreads} from "../api/threads";

const INTERVAL_MS = 700;

export interface Running {
  threadId: string;
  runId: string;
  node: string | null;
}

async function latest(signal: AbortSignal): Promise<Running | null> {
  const threads = await listThreads({limit: 1}, signal);
  const threadId = threads.items[0]?.thread_id;
  if (!threadId) return null;
  const [run] = (await runsOf(threadId, "", signal, 1)).items;
  return run?.status === "running" ? {threadId, runId: run.run_id, node: run.current_node} : null;
}

export function useRunning(enabled: boolean): Running | null {
  const [running, setRunning] = useState<Running | null>(null);
  useEffect(() => {
    if (!enabled) return;
    const leaving = new AbortController();
    let timer = 0;
    const look = async () => {
      // Failures are ignored: the page's own requests show them, and the next look tries again.
      if (!document.hidden) await latest(leaving.signal).then(setRunning, () => {});
      if (!leaving.signal.aborted) timer = window.setTimeout(look, INTERVAL_MS);
    };
    void look();
    return () => {
      leaving.abort();
      clearTimeout(timer);
    };
  }, [enabled]);
  return running;
}
