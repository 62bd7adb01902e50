// Memories of the caller.
import type {JsonObject} from "./messages";
import type {ListPage} from "./pages";
import {call, path} from "./request";

export interface Memory {
  memory_id: string;
  content: string | JsonObject;
  memory_type?: string;
  category?: string;
  metadata?: JsonObject;
  score?: number | null;
}

export interface MemorySearch {
  query: string;
  retrieval_strategy: string;
  distance_metric: string;
}

export async function listMemories(cursor: string, signal?: AbortSignal): Promise<ListPage<Memory>> {
  const body = {limit: 200, ...(cursor && {cursor})};
  const address = "/v1/store/memories/list";
  const page = await call<{memories: Memory[]; next_cursor: string | null}>("POST", address, body, signal);
  return {items: page.memories, next: page.next_cursor};
}

// The best matches.
export async function searchMemories(search: MemorySearch, signal?: AbortSignal): Promise<ListPage<Memory>> {
  const body = {...search, limit: 50};
  const {results} = await call<{results: Memory[]}>("POST", "/v1/store/search", body, signal);
  return {items: results, next: null};
}

export function addMemory(content: string, category: string) {
  return call("POST", "/v1/store/memories", {content, ...(category && {category})});
}

export function changeMemory(id: string, content: string) {
  return call("PUT", path`/v1/store/memories/${id}`, {content});
}

export function deleteMemory(id: string) {
  return call("DELETE", path`/v1/store/memories/${id}`);
}

export function memoryText({content}: Memory): string {
  return typeof content === "string" ? content : JSON.stringify(content);
}
