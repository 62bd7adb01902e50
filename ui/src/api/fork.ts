// A copy of a thread up to one of its messages, as a new thread.
import {randomId} from "../base/random";
import type {Message} from "./messages";
import {fieldsOf} from "./snapshots";
import {addMessages, readMessages, readState, writeState} from "./threads";

const BATCH = 200;

export async function forkThread(threadId: string, upTo: string): Promise<string> {
  const messages: Message[] = [];
  await readMessages(threadId, new AbortController().signal, (page) => messages.push(...page));
  const end = messages.findIndex(({message_id}) => message_id === upTo) + 1;
  const copies = messages.slice(0, end || messages.length).map(({role, content}) => ({role, content}));
  const made = randomId();
  for (let i = 0; i < copies.length; i += BATCH) await addMessages(made, copies.slice(i, i + BATCH));
  const {context_summary: _, ...fields} = fieldsOf(await readState(threadId));
  if (Object.keys(fields).length > 0) await writeState(made, fields);
  return made;
}
