// Numbers and times for people.

export function duration(ms: number): string {
  if (ms < 0.05) return "< 0.1 ms";
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

const count = new Intl.NumberFormat("en");

export function number(value: number): string {
  return count.format(value);
}

export function plural(value: number, one: string): string {
  return `${number(value)} ${one}${value === 1 ? "" : "s"}`;
}

export function bytes(size: number): string {
  if (size < 1000) return plural(size, "byte");
  return size < 1e6 ? `${(size / 1000).toFixed(1)} kB` : `${(size / 1e6).toFixed(1)} MB`;
}

const day = new Intl.DateTimeFormat(undefined, {dateStyle: "medium", timeStyle: "short"});
const clock = new Intl.DateTimeFormat(undefined, {timeStyle: "short"});

export function moment(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return "";
  const date = new Date(typeof value === "number" ? value * 1000 : value);
  return date.toDateString() === new Date().toDateString() ? clock.format(date) : day.format(date);
}

export function pretty(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}
