// Facts about the service from the public API: readiness, speed and parts.
import {useEffect, useState} from "preact/hooks";
import {readMultimodal} from "../api/files";
import {readGraph} from "../api/graph";
import {ApiError, send} from "../api/request";
import {duration} from "../base/format";
import type {PageProps} from "../pages";
import {ErrorNote, Panel, useLoad} from "../widgets/states";
import {Figures} from "./figures";
import {Sparkline} from "./sparkline";

const INTERVAL_MS = 2000;
const KEPT = 60;

interface Health {
  ready: boolean;
  error: unknown;
  waits: number[]; // milliseconds of /ping, the newest last
}

async function look(signal: AbortSignal, waits: number[]): Promise<Health> {
  const began = performance.now();
  try {
    await send("GET", "/ping", {signal});
  } catch (error) {
    return {ready: false, error, waits};
  }
  const all = [...waits, performance.now() - began].slice(-KEPT);
  return send("GET", "/ready", {signal}).then(
    () => ({ready: true, error: null, waits: all}),
    (error) => ({ready: false, error, waits: all}),
  );
}

function useHealth(): Health | null {
  const [health, setHealth] = useState<Health | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    let timer = 0;
    let waits: number[] = [];
    const next = async () => {
      const found = await look(leaving.signal, waits);
      if (leaving.signal.aborted) return;
      waits = found.waits;
      setHealth(found);
      timer = window.setTimeout(next, INTERVAL_MS);
    };
    void next();
    return () => {
      leaving.abort();
      clearTimeout(timer);
    };
  }, []);
  return health;
}

function HealthView() {
  const health = useHealth();
  if (!health) return null;
  const {ready, error, waits} = health;
  const reachable = !(error instanceof ApiError && error.status === 0);
  return (
    <section class="card" aria-label="Health">
      <h2 class="line">
        Health{" "}
        <span class={`tag ${ready ? "good" : "bad"}`}>
          {ready ? "ready" : reachable ? "not ready" : "unreachable"}
        </span>
      </h2>
      {error !== null && <ErrorNote error={error} />}
      <Sparkline values={waits} label="Time of /ping" unit={duration} />
    </section>
  );
}

function yes(value: boolean): string {
  return value ? "yes" : "no";
}

function Configuration() {
  const loaded = useLoad(
    async (signal) => ({graph: await readGraph(), media: await readMultimodal(signal)}),
    [],
  );
  return (
    <section class="card" aria-label="Configuration">
      <h2>Configuration</h2>
      <Panel of={loaded}>
        {({graph: {info, nodes, edges}, media}) => (
          <dl class="facts">
            <dt>Graph</dt>
            <dd>
              {nodes.length} nodes, {edges.length} edges
            </dd>
            <dt>State type</dt>
            <dd>{info.state_type}</dd>
            <dt>State fields</dt>
            <dd>{info.state_fields.join(", ")}</dd>
            <dt>Checkpointer</dt>
            <dd>{info.checkpointer ? info.checkpointer_type : "none"}</dd>
            <dt>Memory store</dt>
            <dd>{yes(info.store)}</dd>
            <dt>Live audio</dt>
            <dd>{yes(info.is_realtime)}</dd>
            <dt>Files</dt>
            <dd>
              {media.media_storage_type}, at most {media.media_max_size_mb} MB,{" "}
              {media.document_handling.replaceAll("_", " ")}
            </dd>
          </dl>
        )}
      </Panel>
      <p class="line">
        <a href="../docs">API explorer</a> <a href="../openapi.json">openapi.json</a>
      </p>
    </section>
  );
}

export function Page({ids}: PageProps) {
  return (
    <div class="page">
      <header class="top">
        <h1>Server</h1>
      </header>
      <div class="body cards">
        <HealthView />
        <Configuration />
        <Figures chosen={ids[0]} />
      </div>
    </div>
  );
}
