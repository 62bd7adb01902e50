// The graph, its tools and the schema of its state.
import type {JsonObject} from "./messages";
import {call} from "./request";
import {forgetWith} from "./session";

export interface GraphInfo {
  is_realtime: boolean;
  checkpointer: boolean;
  checkpointer_type: string | null;
  store: boolean;
  interrupt_before: string[] | null;
  interrupt_after: string[] | null;
  state_type: string;
  state_fields: string[];
}

export interface Graph {
  info: GraphInfo;
  nodes: {id: string; name: string}[];
  edges: {id: string; source: string; target: string}[];
}

export interface Tool {
  name: string;
  description: string;
  source: string;
  tags?: string[];
  parameters: Schema;
}

export interface ToolNode {
  node_name: string;
  tools: Tool[];
}

// The part of JSON Schema that forms are made from.
export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: unknown[];
  format?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  $ref?: string;
  $defs?: Record<string, Schema>;
}

let known: Promise<Graph> | null = null;
forgetWith(() => {
  known = null;
});

// The graph changes only with the configuration, so it is read once.
export function readGraph(): Promise<Graph> {
  known ??= call<Graph>("GET", "/v1/graph").catch((error) => {
    known = null;
    throw error;
  });
  return known;
}

export async function readTools(signal?: AbortSignal): Promise<ToolNode[]> {
  return (await call<{nodes: ToolNode[]}>("GET", "/v1/graph/tools", undefined, signal)).nodes;
}

export function readStateSchema(signal?: AbortSignal): Promise<Schema> {
  return call<Schema & JsonObject>("GET", "/v1/graph:StateSchema", undefined, signal);
}
