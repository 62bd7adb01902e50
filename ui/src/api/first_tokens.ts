// When the first token of a run arrived here. The service's traces do not have it.
import {forgetWith} from "./session";

const waits = new Map<string, number>(); // milliseconds after the request was sent, by run
forgetWith(() => waits.clear());

export function noteFirstToken(runId: string, wait: number): void {
  waits.set(runId, wait);
}

export function firstTokenOf(runId: string): number | null {
  return waits.get(runId) ?? null;
}
