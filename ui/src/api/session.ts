// The caller's token. It is kept in memory, or in the tab's session storage if the user asks for it, and
// never in a URL.
import {Store} from "../base/store";
import {root} from "./root";

// Other services and applications of the same origin have the same storage.
const KEY = `agent-graph-token ${root}`;

export interface Session {
  token: string | null;
  refused: boolean; // the service has refused the last request for lack of a valid token
}

export const session = new Store<Session>({token: sessionStorage.getItem(KEY), refused: false});

const forgetters: (() => void)[] = [];

// Registers a function that deletes a module's data of the current user. signIn calls it, because another user may sign
// in.
export function forgetWith(forget: () => void): void {
  forgetters.push(forget);
}

export function signIn(token: string, keep: boolean): void {
  for (const forget of forgetters) forget();
  if (keep) sessionStorage.setItem(KEY, token);
  else sessionStorage.removeItem(KEY);
  session.set({token, refused: false});
}

// Loads the page again: components and requests that are under way have data of the user, too.
export function signOut(): void {
  sessionStorage.removeItem(KEY);
  history.replaceState(null, "", location.pathname);
  location.reload();
}
