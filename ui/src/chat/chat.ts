// One conversation with the agent. Chats outlive their page, so that the stream of a run is read on while
// the user looks at another page.
import {noteFirstToken} from "../api/first_tokens";
import {type Chunk, type Interrupt, type Message, textOf} from "../api/messages";
import {ApiError} from "../api/request";
import {
  type Budget,
  cancelRun,
  followRun,
  type NewMessage,
  type RunRequest,
  runsOf,
  startRun,
  type ToolDecision,
} from "../api/runs";
import {forgetWith} from "../api/session";
import {noteState} from "../api/snapshots";
import {deleteMessage, readMessages, readState} from "../api/threads";
import {randomId} from "../base/random";
import {Store} from "../base/store";
import {
  apply,
  type Conversation,
  EMPTY,
  type Failure,
  type Progress,
  withMessage,
  withStored,
} from "./conversation";

export interface RunOptions {
  budget: Budget;
  initialState: Record<string, unknown> | null;
}

type RunInput = Pick<RunRequest, "messages" | "tool_decisions">;

const NO_OPTIONS: RunOptions = {budget: {}, initialState: null};

export const runOptions = new Store<RunOptions>(NO_OPTIONS);

// Statuses of runs that have not ended.
const ACTIVE = new Set(["queued", "running"]);

export class Chat {
  readonly conversation = new Store<Conversation>(EMPTY);
  // True while messages of the thread are being read or removed, and if reading them has failed: what is said
  // then would not follow the last message.
  readonly closed = new Store<boolean>(false);
  private leaving = new AbortController();
  private sending = new AbortController(); // ends the repetitions of the request that starts the run

  constructor(readonly threadId: string) {}

  private update(change: (conversation: Conversation) => Conversation): void {
    this.conversation.set(change(this.conversation.get()));
  }

  private updateProgress(change: Partial<Progress>): void {
    this.update((one) => ({...one, progress: one.progress && {...one.progress, ...change}}));
  }

  // `retry` does again what has failed. It must not remove anything that the user did not ask to remove.
  showFailure(error: unknown, retry: Failure["retry"] = null): void {
    const known = error instanceof ApiError;
    const text = error instanceof Error ? error.message : String(error);
    const failure = {text, code: known ? error.code : null, requestId: known ? error.requestId : null, retry};
    this.update((one) => ({...one, failure}));
  }

  // Does again what has failed; only once, also after a double click.
  retry(): void {
    const {failure} = this.conversation.get();
    this.update((one) => ({...one, failure: null}));
    failure?.retry?.();
  }

  private endRun(error: unknown, retry: Failure["retry"]): void {
    this.update((one) => ({...one, progress: null}));
    this.showFailure(error, retry);
  }

  // Reads the thread, and follows its run if one is in flight.
  async open(): Promise<void> {
    this.closed.set(true);
    try {
      const runId = await this.load();
      if (runId) this.begin(runId, "open", null);
      this.closed.set(false);
      if (runId) await this.follow(runId);
    } catch (error) {
      if (this.leaving.signal.aborted) return;
      this.endRun(error, () => void this.open());
      // The thread begins with the first message.
      if (error instanceof ApiError && error.status === 404) this.closed.set(false);
    }
  }

  // Returns the id of the run in flight, or null. Runs are read first: what a run writes that ends meanwhile is in
  // the messages, or in the stream of the run that is returned.
  private async load(): Promise<string | null> {
    const {signal} = this.leaving;
    const [latest] = (await runsOf(this.threadId, "", signal, 1)).items;
    const stored: Message[] = [];
    await readMessages(this.threadId, signal, (page) => {
      stored.push(...page);
      this.update((one) => withStored(one, stored));
    });
    const state = await readState(this.threadId, signal);
    this.update((one) => ({...one, interrupt: interruptOf(state)}));
    return latest && ACTIVE.has(latest.status) ? latest.run_id : null;
  }

  close(): void {
    this.leaving.abort();
  }

  private begin(runId: string, connection: Progress["connection"], again: Progress["again"]): void {
    const progress = {
      runId,
      connection,
      stopping: false,
      node: null,
      attempt: 1,
      sentAt: Date.now(),
      firstTokenAt: null,
      again,
    };
    this.update((one) => ({...one, progress, failure: null, interrupt: null, outcome: null}));
  }

  // Shows the user's message at once and runs the graph with it.
  async say(content: Message["content"]): Promise<void> {
    const message: Message = {message_id: randomId(), role: "user", content, timestamp: Date.now() / 1000};
    this.update((one) => withMessage(one, message));
    await this.run({messages: [{role: "user", message_id: message.message_id, content} as NewMessage]});
  }

  // Answers waiting tool calls or questions of tools: results by the ids of the calls.
  async answer(results: {id: string; output: unknown; isError?: boolean}[]): Promise<void> {
    const content = results.map(({id, output, isError}) => ({
      type: "tool_result",
      call_id: id,
      output,
      is_error: isError ?? false,
    }));
    await this.run({messages: [{role: "tool", content}]});
  }

  decide(decisions: ToolDecision[]): Promise<void> {
    return this.run({tool_decisions: decisions});
  }

  // A run that has failed can be repeated with the same input: the service stores no message twice.
  private run(input: RunInput): Promise<void> {
    const {budget, initialState} = runOptions.get();
    const request: RunRequest = {...input, config: {thread_id: this.threadId, run_id: randomId()}};
    if (Object.keys(budget).length > 0) request.config.budget = budget;
    if (initialState) request.initial_state = initialState;
    return this.send(request, () => void this.run(input));
  }

  // Sends the run and reads it to its end.
  private async send(request: RunRequest, again: () => void): Promise<void> {
    const runId = request.config.run_id;
    const waiting = this.conversation.get().interrupt;
    this.begin(runId, "sending", again);
    if (!(await this.deliver(request, again))) {
      this.update((one) => ({...one, interrupt: waiting}));
      return;
    }
    if (request.initial_state) runOptions.set({...runOptions.get(), initialState: null});
    this.updateProgress({connection: "open"});
    try {
      await this.follow(runId);
    } catch (error) {
      if (!this.leaving.signal.aborted) this.endRun(error, () => void this.open());
    }
  }

  // Returns true if the service has the run. A request that has failed is sent again with its id: the service may
  // have it.
  private async deliver(request: RunRequest, again: () => void): Promise<boolean> {
    const sending = new AbortController();
    this.sending = sending;
    try {
      await startRun(request, AbortSignal.any([this.leaving.signal, sending.signal]));
      return true;
    } catch (error) {
      if (this.leaving.signal.aborted) return false;
      // A request that was stopped may have arrived all the same.
      if (sending.signal.aborted && (await this.cancel(request.config.run_id))) return true;
      if (sending.signal.aborted) this.update((one) => ({...one, progress: null, outcome: "stopped"}));
      else this.endRun(error, () => void this.send(request, again));
      return false;
    }
  }

  private take(chunk: Chunk): void {
    const before = this.conversation.get().progress;
    this.update((one) => apply(one, chunk));
    const after = this.conversation.get().progress;
    if (before && after?.firstTokenAt && !before.firstTokenAt) {
      noteFirstToken(after.runId, after.firstTokenAt - after.sentAt);
    }
  }

  private async follow(runId: string): Promise<void> {
    const onCut = () => this.updateProgress({connection: "lost"});
    for await (const chunk of followRun(this.threadId, runId, this.leaving.signal, onCut)) {
      if (this.conversation.get().progress?.connection === "lost") this.updateProgress({connection: "open"});
      this.take(chunk);
    }
    await this.noteEnd(runId);
  }

  // Keeps the state after the run, for comparisons.
  private async noteEnd(runId: string): Promise<void> {
    const state = await readState(this.threadId, this.leaving.signal).catch(() => null);
    if (state) noteState(this.threadId, runId, state);
  }

  // Ends the run, also one that is still being sent.
  stop(): void {
    const {progress} = this.conversation.get();
    if (!progress || progress.stopping) return;
    this.updateProgress({stopping: true});
    if (progress.connection === "sending") this.sending.abort();
    else void this.cancel(progress.runId);
  }

  // Returns false if the service does not have the run. A run that could not be cancelled goes on, and can be stopped
  // again.
  private async cancel(runId: string): Promise<boolean> {
    const {signal} = this.leaving;
    try {
      return await cancelRun(this.threadId, runId, signal);
    } catch (error) {
      if (signal.aborted) return true;
      this.updateProgress({stopping: false});
      this.showFailure(error);
      return true;
    }
  }

  // Removes a message and all after it, the last one first.
  private async rewind(messageId: string): Promise<void> {
    const {entries} = this.conversation.get();
    const from = entries.findIndex(({message}) => message.message_id === messageId);
    if (from < 0) return;
    for (const {message} of entries.slice(from).reverse()) {
      await deleteMessage(this.threadId, message.message_id).catch((error) => {
        if (!(error instanceof ApiError) || error.status !== 404) throw error;
      });
      this.update((one) => ({...one, entries: one.entries.filter((entry) => entry.message !== message)}));
    }
  }

  // Sends a message of the user again, changed or not, in the place of what followed it. Does nothing while a run
  // goes on, which would be left without its messages.
  async resend(messageId: string, content: Message["content"]): Promise<void> {
    if (this.conversation.get().progress || this.closed.get()) return;
    this.closed.set(true);
    try {
      await this.rewind(messageId);
    } catch (error) {
      this.showFailure(error, () => void this.resend(messageId, content));
      return;
    } finally {
      this.closed.set(false);
    }
    await this.say(content);
  }
}

function interruptOf(state: {
  execution_meta?: {is_interrupted: boolean; interrupt?: Interrupt};
}): Interrupt | null {
  const meta = state.execution_meta;
  return meta?.is_interrupted ? (meta.interrupt ?? null) : null;
}

const chats = new Map<string, Chat>();
forgetWith(() => {
  for (const chat of chats.values()) chat.close();
  chats.clear();
  runOptions.set(NO_OPTIONS);
});

// The chat of a thread; it is opened when it is first asked for. `fresh`: the thread does not exist yet.
export function chatOf(threadId: string, fresh: boolean): Chat {
  let chat = chats.get(threadId);
  if (!chat) {
    chat = new Chat(threadId);
    chats.set(threadId, chat);
    if (!fresh) void chat.open();
  }
  return chat;
}

// Forgets what is known of a thread that has been changed or deleted elsewhere.
export function dropChat(threadId: string): void {
  chats.get(threadId)?.close();
  chats.delete(threadId);
}

const TITLE_LETTERS = 60;

// The first words of a thread, if its chat has been opened.
export function titleOf(threadId: string): string | null {
  const first = chats
    .get(threadId)
    ?.conversation.get()
    .entries.find(({message}) => message.role === "user");
  return first ? textOf(first.message).slice(0, TITLE_LETTERS) : null;
}
