// Memories of the caller.
import type {JsonObject} from "./messages";
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

export async function listMemories(signal?: AbortSignal): Promise<Memory[]> {
  return (await call<{memories: Memory[]}>("POST", "/v1/store/memories/list", {limit: 1000}, signal))
    .memories;
}

export async function searchMemories(search: MemorySearch, signal?: AbortSignal): Promise<Memory[]> {
  return (await call<{results: Memory[]}>("POST", "/v1/store/search", {...search, limit: 50}, signal))
    .results;
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
