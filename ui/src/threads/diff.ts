// Differences between two states, field by field.
import type {Json, JsonObject} from "../api/messages";

export interface Change {
  path: string;
  before: Json | undefined;
  after: Json | undefined;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function same(a: Json | undefined, b: Json | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

export function changes(before: JsonObject, after: JsonObject, prefix = ""): Change[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => {
    const [old, now] = [before[name], after[name]];
    if (same(old, now)) return [];
    if (isObject(old) && isObject(now)) return changes(old, now, `${prefix}${name}.`);
    return [{path: prefix + name, before: old, after: now}];
  });
}

// The merge patch that turns `before` into `after`: changed fields, and null for fields to remove.
export function patchOf(before: JsonObject, after: JsonObject): JsonObject {
  const patch: JsonObject = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (!same(before[name], after[name])) patch[name] = after[name] ?? null;
  }
  return patch;
}
