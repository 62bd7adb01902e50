import {useEffect, useState} from "preact/hooks";
import {readStatus, type ServiceStatus} from "../api/status";
import {bytes, duration, number} from "../base/format";
import {complete} from "../base/route";
import {Sparkline} from "./sparkline";

const INTERVAL_MS = 2000;
const KEPT = 60;

interface Sample {
  at: number; // milliseconds
  services: ServiceStatus[];
}

// Null: nginx does not show its figures to this caller. A read that fails for another reason is repeated.
function useSamples(): Sample[] | null {
  const [samples, setSamples] = useState<Sample[] | null>([]);
  useEffect(() => {
    const leaving = new AbortController();
    let timer = 0;
    const next = async () => {
      const services = await readStatus(leaving.signal).catch(() => []);
      if (leaving.signal.aborted) return;
      if (!services) return setSamples(null);
      const sample = {at: performance.now(), services};
      if (services.length > 0) setSamples((old) => [...(old ?? []), sample].slice(-KEPT));
      timer = window.setTimeout(next, INTERVAL_MS);
    };
    void next();
    return () => {
      leaving.abort();
      clearTimeout(timer);
    };
  }, []);
  return samples;
}

function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

interface Moment {
  at: number; // milliseconds
  status: ServiceStatus;
}

function ofService(samples: Sample[], name: string): Moment[] {
  return samples.flatMap(({at, services}) => {
    const status = services.find((one) => one.name === name);
    return status ? [{at, status}] : [];
  });
}

// Increases per second of a counter.
function rates(moments: Moment[], count: (status: ServiceStatus) => number): number[] {
  return moments.slice(1).map(({at, status}, i) => {
    const before = moments[i] as Moment;
    return Math.max(0, ((count(status) - count(before.status)) * 1000) / (at - before.at));
  });
}

function perSecond(value: number): string {
  return `${value.toFixed(value < 10 ? 1 : 0)} / s`;
}

function Missing() {
  return (
    <p class="detail">
      nginx shows its figures here if a location beside the agent serves them, for this page's callers:{" "}
      <code>location = /status {"{ agent_graph_status format=json; }"}</code>
    </p>
  );
}

// The page does not know the name that its own service has in the configuration of nginx.
function ServiceChoice({names, chosen}: {names: string[]; chosen: string | undefined}) {
  return (
    <label class="inline">
      <span>Service</span>
      <select value={chosen ?? ""} onChange={(event) => complete("server", event.currentTarget.value)}>
        {!chosen && <option value="">choose one</option>}
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function Sparklines({moments}: {moments: Moment[]}) {
  const values = (read: (status: ServiceStatus) => number) => moments.map(({status}) => read(status));
  return (
    <div class="cards">
      <Sparkline label="Requests" values={rates(moments, ({requests}) => sum(requests))} unit={perSecond} />
      <Sparkline label="In flight" values={values((one) => one.requests_in_flight)} unit={number} />
      <Sparkline
        label="Model calls"
        values={rates(moments, ({model_calls}) => sum(model_calls))}
        unit={perSecond}
      />
      <Sparkline
        label="Tokens"
        values={rates(moments, ({model_tokens}) => sum(model_tokens))}
        unit={perSecond}
      />
      <Sparkline label="Memory of requests" values={values((one) => one.memory_bytes)} unit={bytes} />
      <Sparkline
        label="Event loop delay"
        values={values((one) => one.event_loop_delay_seconds * 1000)}
        unit={duration}
      />
    </div>
  );
}

// `chosen` is the name of a service, of which one nginx can have several.
export function Figures({chosen}: {chosen: string | undefined}) {
  const samples = useSamples();
  const names = samples?.at(-1)?.services.map(({name}) => name) ?? [];
  const shown = names.length === 1 ? names[0] : names.find((name) => name === chosen);
  const moments = samples && shown ? ofService(samples, shown) : [];
  const now = moments.at(-1)?.status;
  if (samples?.length === 0) return null;
  return (
    <section class="card" aria-label="Figures">
      <h2>{shown ? `Figures of ${shown}` : "Figures"}</h2>
      {!samples && <Missing />}
      {names.length > 1 && <ServiceChoice names={names} chosen={shown} />}
      {now && (
        <>
          <p class="detail">
            {number(now.workers.serving)} workers, {number(now.websockets)} WebSockets,{" "}
            {number(now.queue_waiting)} requests wait
          </p>
          <Sparklines moments={moments} />
        </>
      )}
    </section>
  );
}
