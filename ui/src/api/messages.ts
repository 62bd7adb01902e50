// Messages as the service sends them. Only the members that Studio shows.

export type Json = null | boolean | number | string | Json[] | {[name: string]: Json};
export type JsonObject = {[name: string]: Json};

export interface MediaRef {
  kind?: string;
  url?: string;
  file_id?: string;
  mime_type?: string;
  filename?: string;
}

export type Block =
  | {type: "text"; text: string}
  | {type: "reasoning"; summary?: string; details?: string[]}
  | {type: "tool_call" | "remote_tool_call"; id: string; name: string; args?: JsonObject}
  | {type: "tool_result"; call_id: string; output?: Json; is_error?: boolean; status?: string}
  | {type: "image" | "audio" | "video" | "document"; media?: MediaRef; file_id?: string}
  | {type: "error"; message: string; code?: string | null}
  | {type: "data" | "annotation"};

export interface Usages {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

export interface Message {
  message_id: string;
  role: "user" | "assistant" | "system" | "tool";
  content: Block[];
  delta?: boolean;
  reasoning?: string | null;
  timestamp?: number;
  metadata?: JsonObject;
  usages?: Usages | null;
}

export interface Interrupt {
  node: string;
  reason: string;
  status: string;
  data?: Json;
}

export type Outcome = "done" | "interrupted" | "stopped" | "error";

// A line of a run's stream.
export interface Chunk {
  event: string;
  message: Message | null;
  data: {
    status?: string;
    outcome?: Outcome;
    interrupt?: Interrupt;
    reset?: string | null;
    attempt?: number;
    reason?: string;
    code?: string;
    node?: string;
  } | null;
  thread_id: string;
  run_id: string;
  metadata: {node?: string; step?: number; cursor?: string} | null;
  timestamp: number;
}

export function textOf(message: Message): string {
  return message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
