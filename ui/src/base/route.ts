// The place in Studio is the part of the address behind "#": page and ids. Servers never see it.
import {Store} from "./store";

export type Route = [page: string, ...ids: string[]];

function read(): Route {
  const parts = location.hash.replace(/^#\/?/, "").split("/").map(decode);
  const [page, ...ids] = parts;
  return [page || "chat", ...ids.filter(Boolean)];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const route = new Store<Route>(read());
addEventListener("hashchange", () => route.set(read()));

export function href(...parts: Route): string {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

export function go(...parts: Route): void {
  location.hash = href(...parts);
}

// Completes the address of a page without a new entry in the browser's history. Does nothing if the user has
// left the page meanwhile.
export function complete(...parts: Route): void {
  if (read()[0] !== parts[0]) return;
  history.replaceState(null, "", href(...parts));
  route.set(read());
}
