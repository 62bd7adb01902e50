// The figures of nginx's status page, where a location "status" beside the agent serves it as JSON.
import {send} from "./request";

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

// Null: there is no such location, or this caller may not read it.
export async function readStatus(signal: AbortSignal): Promise<ServiceStatus[] | null> {
  try {
    const response = await send("GET", "/status", {signal, signsOut: false});
    return ((await response.json()) as {services: ServiceStatus[]}).services;
  } catch {
    return null;
  }
}
