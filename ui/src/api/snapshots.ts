// States of threads after their runs, as far as this page has seen them. The service keeps only the latest.
import type {JsonObject} from "./messages";
import {forgetWith} from "./session";
import type {State} from "./threads";

export interface Snapshot {
  runId: string;
  at: number; // milliseconds
  fields: JsonObject;
}

// Members that are no fields of the graph.
const OWN = new Set(["context", "execution_meta"]);
const KEPT = 50; // snapshots of one thread

const snapshots = new Map<string, Snapshot[]>();
forgetWith(() => snapshots.clear());

export function fieldsOf(state: State): JsonObject {
  return Object.fromEntries(Object.entries(state).filter(([name]) => !OWN.has(name))) as JsonObject;
}

export function noteState(threadId: string, runId: string, state: State): void {
  const older = snapshotsOf(threadId).filter((one) => one.runId !== runId);
  snapshots.set(threadId, [...older, {runId, at: Date.now(), fields: fieldsOf(state)}].slice(-KEPT));
}

// The oldest first.
export function snapshotsOf(threadId: string): Snapshot[] {
  return snapshots.get(threadId) ?? [];
}
