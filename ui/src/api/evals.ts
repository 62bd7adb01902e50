// Reports of evaluations.
import {call, path} from "./request";

export interface EvalRun {
  id: string;
  name: string;
  run: string;
  rate: number;
  status: "pass" | "fail";
  cases: number;
  ago: string;
}

export interface Tile {
  label: string;
  value: string;
  tone?: string;
}

export interface EvalCase {
  id: string;
  name: string;
  type: "eval" | "sim";
  score: number;
  status: "pass" | "fail";
  lat: string;
  cost: string;
  input: string;
  actual: string;
  rubric: {key: string; value: number; tone?: string}[] | null;
  conversation: {role: string; text: string}[] | null;
}

export interface EvalReport {
  title: string;
  sub: string;
  rate: number;
  status: "pass" | "fail";
  stats: Tile[];
  cases: EvalCase[];
  regression: {
    note: {current: string; prev: string};
    summary: Tile[];
    rows: {name: string; delta: string; dir: "up" | "down" | "flat"; flip: string; stay: boolean}[];
  } | null;
}

export async function listEvalRuns(signal?: AbortSignal): Promise<EvalRun[]> {
  return (await call<{runs: EvalRun[]}>("GET", "/v1/evals/runs", undefined, signal)).runs;
}

export function readEvalReport(id: string, signal?: AbortSignal): Promise<EvalReport> {
  return call<EvalReport>("GET", path`/v1/evals/runs/${id}`, undefined, signal);
}
