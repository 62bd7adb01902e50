// The contents of a chat, as a value. `apply` adds a line of a run's stream to it.
import type {Block, Chunk, Interrupt, Message, Outcome} from "../api/messages";

// "void": another worker writes this message again. Its text stays until the new one begins.
type Stage = "whole" | "streaming" | "void";

export interface Entry {
  key: string; // stays the same while a message is written, also if it is written again
  message: Message;
  runId: string | null;
  stage: Stage;
}

export interface Progress {
  runId: string;
  connection: "sending" | "open" | "lost";
  stopping: boolean; // the user has asked for its end
  node: string | null;
  attempt: number;
  sentAt: number;
  firstTokenAt: number | null;
  again: (() => void) | null; // starts a run with the same input; null: this page has not sent it
}

export interface Failure {
  text: string;
  code: string | null;
  requestId: string | null;
  retry: (() => void) | null; // does again what has failed; null: there is nothing to repeat
}

export interface Conversation {
  entries: Entry[];
  progress: Progress | null;
  interrupt: Interrupt | null;
  outcome: Outcome | null;
  failure: Failure | null;
}

export const EMPTY: Conversation = {
  entries: [],
  progress: null,
  interrupt: null,
  outcome: null,
  failure: null,
};

function entryOf(message: Message): Entry {
  return {key: message.message_id, message, runId: null, stage: "whole"};
}

export function withMessage(conversation: Conversation, message: Message): Conversation {
  return {...conversation, entries: [...conversation.entries, entryOf(message)]};
}

// `stored` are the messages of the thread from its first one on. Entries that are not among them are later ones.
// Parts of messages are left out, because they come again with the stream.
export function withStored(conversation: Conversation, stored: Message[]): Conversation {
  const known = new Map(conversation.entries.map((entry) => [entry.message.message_id, entry]));
  const ids = new Set(stored.map(({message_id}) => message_id));
  const older = stored.map((message) => {
    const {key, runId} = known.get(message.message_id) ?? entryOf(message);
    return {...entryOf(message), key, runId};
  });
  const later = conversation.entries.filter(
    ({message, stage}) => stage === "whole" && !ids.has(message.message_id),
  );
  return {...conversation, entries: [...older, ...later]};
}

// Appends the blocks of a piece: texts continue the last text.
function appended(content: Block[], piece: Block[]): Block[] {
  const blocks = [...content];
  for (const block of piece) {
    const last = blocks.at(-1);
    if (block.type === "text" && last?.type === "text") {
      blocks[blocks.length - 1] = {...last, text: last.text + block.text};
    } else if (block.type === "reasoning" && last?.type === "reasoning") {
      blocks[blocks.length - 1] = {...last, summary: (last.summary ?? "") + (block.summary ?? "")};
    } else {
      blocks.push(block);
    }
  }
  return blocks;
}

function withPiece(entry: Entry, piece: Message): Entry {
  const content = appended(entry.message.content, piece.content);
  const reasoning = (entry.message.reasoning ?? "") + (piece.reasoning ?? "");
  return {...entry, stage: "streaming", message: {...entry.message, content, reasoning: reasoning || null}};
}

function withReceived(entries: Entry[], message: Message, runId: string): Entry[] {
  const result = [...entries];
  const stage: Stage = message.delta ? "streaming" : "whole";
  const same = entries.findLastIndex((entry) => entry.message.message_id === message.message_id);
  if (same >= 0) {
    const entry = entries[same] as Entry;
    // Pieces of a message that is complete already come again after a new connection.
    if (message.delta && entry.stage === "whole") return entries;
    result[same] =
      message.delta && entry.stage === "streaming" ? withPiece(entry, message) : {...entry, message, stage};
    return result;
  }
  const voided = message.role === "tool" ? -1 : entries.findIndex((entry) => entry.stage === "void");
  if (voided >= 0) {
    result[voided] = {...(entries[voided] as Entry), message, stage};
    return result;
  }
  return [...result, {key: message.message_id, message, runId, stage}];
}

function withoutVoid(entries: Entry[]): Entry[] {
  return entries
    .filter((entry) => entry.stage !== "void")
    .map((entry) => (entry.stage === "streaming" ? {...entry, stage: "whole" as const} : entry));
}

function retried(
  conversation: Conversation,
  reset: string | null | undefined,
  attempt: number,
): Conversation {
  const entries = conversation.entries.map((entry) => {
    const hit = reset ? entry.message.message_id === reset : entry.stage === "streaming";
    return hit ? {...entry, stage: "void" as const} : entry;
  });
  const {progress} = conversation;
  return {...conversation, entries, progress: progress && {...progress, attempt}};
}

export function apply(conversation: Conversation, chunk: Chunk): Conversation {
  const {event, message, data} = chunk;
  if (event === "message" && message) {
    const {progress} = conversation;
    const moved = progress && {
      ...progress,
      node: chunk.metadata?.node ?? progress.node,
      firstTokenAt: progress.firstTokenAt ?? (message.delta ? Date.now() : null),
    };
    return {
      ...conversation,
      progress: moved,
      entries: withReceived(conversation.entries, message, chunk.run_id),
    };
  }
  if (event === "error") {
    const failure = {
      text: data?.reason ?? "the run failed",
      code: data?.code ?? null,
      requestId: null,
      retry: conversation.progress?.again ?? null,
    };
    return {...conversation, failure};
  }
  if (event === "updates" && data?.status === "retrying")
    return retried(conversation, data.reset, data.attempt ?? 2);
  if (event === "updates" && data?.status === "done") {
    return {
      ...conversation,
      entries: withoutVoid(conversation.entries),
      progress: null,
      outcome: data.outcome ?? "done",
      interrupt: data.interrupt ?? null,
    };
  }
  return conversation;
}
