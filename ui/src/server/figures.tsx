import {useEffect, useState} from "preact/hooks";
import {readStatus, type ServiceStatus} from "../api/status";
import {bytes, duration, number} from "../base/format";
import {Sparkline} from "./sparkline";

const INTERVAL_MS = 2000;
const KEPT = 60;

interface Sample {
  at: number; // milliseconds
  status: ServiceStatus;
}

function useSamples(): {samples: Sample[]; missing: boolean} {
  const [state, setState] = useState<{samples: Sample[]; missing: boolean}>({samples: [], missing: false});
  useEffect(() => {
    const leaving = new AbortController();
    let timer = 0;
    const next = async () => {
      const services = await readStatus(leaving.signal);
      if (leaving.signal.aborted) return;
      const status = services?.[0];
      if (!status) return setState((old) => ({...old, missing: true}));
      setState((old) => ({
        samples: [...old.samples, {at: performance.now(), status}].slice(-KEPT),
        missing: false,
      }));
      timer = window.setTimeout(next, INTERVAL_MS);
    };
    void next();
    return () => {
      leaving.abort();
      clearTimeout(timer);
    };
  }, []);
  return state;
}

function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

// Increases per second of a counter.
function rates(samples: Sample[], count: (status: ServiceStatus) => number): number[] {
  return samples.slice(1).map(({at, status}, i) => {
    const before = samples[i] as Sample;
    return Math.max(0, ((count(status) - count(before.status)) * 1000) / (at - before.at));
  });
}

function perSecond(value: number): string {
  return `${value.toFixed(value < 10 ? 1 : 0)} / s`;
}

export function Figures() {
  const {samples, missing} = useSamples();
  const now = samples.at(-1)?.status;
  if (missing) {
    return (
      <section class="card" aria-label="Figures">
        <h2>Figures</h2>
        <p class="detail">
          nginx shows its figures here if a location beside the agent serves them, for this page's callers:{" "}
          <code>location = /status {"{ agent_graph_status format=json; }"}</code>
        </p>
      </section>
    );
  }
  if (!now) return null;
  const values = (read: (status: ServiceStatus) => number) => samples.map(({status}) => read(status));
  return (
    <section class="card" aria-label="Figures">
      <h2>Figures of {now.name}</h2>
      <p class="detail">
        {number(now.workers.serving)} workers, {number(now.websockets)} WebSockets,{" "}
        {number(now.queue_waiting)} requests wait
      </p>
      <div class="cards">
        <Sparkline label="Requests" values={rates(samples, ({requests}) => sum(requests))} unit={perSecond} />
        <Sparkline label="In flight" values={values((one) => one.requests_in_flight)} unit={number} />
        <Sparkline
          label="Model calls"
          values={rates(samples, ({model_calls}) => sum(model_calls))}
          unit={perSecond}
        />
        <Sparkline
          label="Tokens"
          values={rates(samples, ({model_tokens}) => sum(model_tokens))}
          unit={perSecond}
        />
        <Sparkline label="Memory of requests" values={values((one) => one.memory_bytes)} unit={bytes} />
        <Sparkline
          label="Event loop delay"
          values={values((one) => one.event_loop_delay_seconds * 1000)}
          unit={duration}
        />
      </div>
    </section>
  );
}
