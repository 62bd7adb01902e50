// The figures of nginx's status page, where a location "status" beside the agent serves it as JSON.
import {ApiError, send} from "./request";

export interface ServiceStatus {
  name: string;
  requests: Record<string, number>;
  model_calls: Record<string, number>;
  model_tokens: Record<string, number>;
  requests_in_flight: number;
  queue_waiting: number;
  memory_bytes: number;
  event_loop_delay_seconds: number;
  websockets: number;
  workers: {serving: number; draining: number};
}

const MISSING = new Set([401, 403, 404]);

// The services of this nginx. Null: there is no such location, or this caller may not read it.
export async function readStatus(signal: AbortSignal): Promise<ServiceStatus[] | null> {
  try {
    const response = await send("GET", "/status", {signal, signsOut: false});
    return ((await response.json()) as {services: ServiceStatus[]}).services;
  } catch (error) {
    // An answer that is not JSON is another page.
    const missing = error instanceof SyntaxError || (error instanceof ApiError && MISSING.has(error.status));
    if (missing) return null;
    throw error;
  }
}
