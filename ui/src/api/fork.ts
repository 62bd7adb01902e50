// A copy of a thread up to one of its messages, as a new thread.
import {randomId} from "../base/random";
import type {JsonObject, Message} from "./messages";
import {addMessages, readMessages, readState, writeState} from "./threads";

// Members of the state that belong to the conversation and its run, not to the graph.
const OWN = new Set(["context", "context_summary", "execution_meta"]);
const BATCH = 200;

export async function forkThread(threadId: string, upTo: string): Promise<string> {
  const messages: Message[] = [];
  await readMessages(threadId, new AbortController().signal, (page) => messages.push(...page));
  const end = messages.findIndex(({message_id}) => message_id === upTo) + 1;
  const copies = messages.slice(0, end || messages.length).map(({role, content}) => ({role, content}));
  const made = randomId();
  for (let i = 0; i < copies.length; i += BATCH) await addMessages(made, copies.slice(i, i + BATCH));
  const state = Object.entries(await readState(threadId)).filter(([name]) => !OWN.has(name));
  if (state.length > 0) await writeState(made, Object.fromEntries(state) as JsonObject);
  return made;
}
