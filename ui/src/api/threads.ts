// Threads: their list, messages and state.
import type {Interrupt, JsonObject, Message} from "./messages";
import type {ListPage} from "./pages";
import {call, path} from "./request";

export interface Thread {
  thread_id: string;
  thread_name: string | null;
  user_id: string | null;
  metadata: JsonObject;
  created_at: string;
  updated_at: string;
  run_id: string | null;
}

export interface ExecutionMeta {
  current_node: string;
  is_running: boolean;
  is_interrupted: boolean;
  interrupt?: Interrupt;
  [name: string]: unknown;
}

export type State = JsonObject & {context?: unknown; execution_meta?: ExecutionMeta};

export interface Search {
  text?: string;
  metadata?: string; // name=value
  cursor?: string;
  limit?: number;
}

// The threads that were changed last come first.
export async function listThreads(search: Search, signal?: AbortSignal): Promise<ListPage<Thread>> {
  const {text, metadata = "", cursor, limit = 50} = search;
  const query = new URLSearchParams({limit: String(limit)});
  if (text) query.set("search", text);
  const [name, value] = split(metadata);
  if (name) query.set(`metadata.${name}`, value);
  if (cursor) query.set("cursor", cursor);
  const address = `/v1/threads?${query}`;
  const page = await call<{threads: Thread[]; next_cursor: string | null}>("GET", address, undefined, signal);
  return {items: page.threads, next: page.next_cursor};
}

function split(pair: string): [string, string] {
  const at = pair.indexOf("=");
  return at < 0 ? [pair.trim(), ""] : [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
}

// All messages of a thread, the oldest first. `onPage` gets each page as it arrives.
export async function readMessages(
  threadId: string,
  signal: AbortSignal,
  onPage: (messages: Message[]) => void,
): Promise<void> {
  let cursor: string | null | undefined = "";
  do {
    const query: string = `?limit=1000${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`;
    const page: {messages: Message[]; next_cursor?: string | null} = await call(
      "GET",
      path`/v1/threads/${threadId}/messages` + query,
      undefined,
      signal,
    );
    onPage(page.messages);
    cursor = page.next_cursor;
  } while (cursor);
}

export async function readState(threadId: string, signal?: AbortSignal): Promise<State> {
  return (await call<{state: State}>("GET", path`/v1/threads/${threadId}/state`, undefined, signal)).state;
}

export async function writeState(threadId: string, state: JsonObject): Promise<State> {
  return (await call<{state: State}>("PUT", path`/v1/threads/${threadId}/state`, {state})).state;
}

export function addMessages(threadId: string, messages: unknown[]) {
  return call("POST", path`/v1/threads/${threadId}/messages`, {messages});
}

export function deleteMessage(threadId: string, messageId: string) {
  return call("DELETE", path`/v1/threads/${threadId}/messages/${messageId}`, {});
}

export function deleteThread(threadId: string) {
  return call("DELETE", path`/v1/threads/${threadId}`, {});
}
