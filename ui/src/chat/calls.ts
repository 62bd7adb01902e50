// Tool calls of a conversation with their results.
import type {Block, Interrupt, JsonObject} from "../api/messages";
import type {Entry} from "./conversation";

export type CallBlock = Extract<Block, {type: "tool_call" | "remote_tool_call"}>;
export type ResultBlock = Extract<Block, {type: "tool_result"}>;

export interface Result {
  block: ResultBlock;
  at: number | undefined;
}

export function resultsOf(entries: Entry[]): Map<string, Result> {
  const results = new Map<string, Result>();
  for (const {message} of entries) {
    for (const block of message.content) {
      if (block.type === "tool_result") results.set(block.call_id, {block, at: message.timestamp});
    }
  }
  return results;
}

export function isCall(block: Block): block is CallBlock {
  return block.type === "tool_call" || block.type === "remote_tool_call";
}

// The calls of the last message that have no result yet.
export function openCalls(entries: Entry[], results: Map<string, Result>): CallBlock[] {
  const last = entries.findLast(({message}) => message.role === "assistant");
  return (last?.message.content ?? []).filter(isCall).filter(({id}) => !results.has(id));
}

export interface Elicitation {
  id: string;
  tool: string;
  server: string;
  mode: "form" | "url";
  message: string;
  url?: string;
  requested_schema?: JsonObject;
}

export interface UndecidedCall {
  call_id: string;
  tool: string;
  arguments?: JsonObject;
}

// The lists that an interrupt may carry, by their names in its data.
export function listOf<T>(interrupt: Interrupt, name: string): T[] {
  const data = interrupt.data;
  const list = data && typeof data === "object" && !Array.isArray(data) ? data[name] : null;
  return Array.isArray(list) ? (list as T[]) : [];
}
