import {useCallback, useEffect, useMemo, useState} from "preact/hooks";
import {forkThread} from "../api/fork";
import type {Block} from "../api/messages";
import {randomId} from "../base/random";
import {complete, go} from "../base/route";
import {useStore} from "../base/store";
import type {PageProps} from "../pages";
import {Button} from "../widgets/button";
import {Empty, Loading} from "../widgets/states";
import {VirtualList} from "../widgets/virtual";
import {Attachments} from "./attachments";
import {openCalls, type Result, resultsOf} from "./calls";
import {type Chat, chatOf} from "./chat";
import {Composer} from "./composer";
import type {Entry, Failure} from "./conversation";
import {MessageView} from "./message";
import {Question} from "./question";
import {RunProgress, RunSummary} from "./run_bar";
import {ThreadList} from "./thread_list";

function FailureNote({failure, onRetry}: {failure: Failure; onRetry: () => void}) {
  return (
    <div class="note error" role="alert">
      <p>{failure.text}</p>
      <p class="detail">
        {failure.code && <span>{failure.code}</span>}
        {failure.requestId && (
          <span>
            request <code>{failure.requestId}</code>
          </span>
        )}
      </p>
      {failure.retry && <Button label="Try again" icon="retry" onClick={onRetry} />}
    </div>
  );
}

function Welcome() {
  return (
    <Empty title="Talk to your agent">
      <p>Write a message below. Files can be dropped here or pasted.</p>
      <p>
        The demo model knows: <i>What time is it in Tokyo?</i> <i>What is 6 * 7?</i>{" "}
        <i>Remember that I like tea.</i>
      </p>
    </Empty>
  );
}

// Tool results are part of the cards of their calls.
function isShown({message}: Entry): boolean {
  return message.role !== "tool" && message.role !== "system";
}

interface TailProps {
  chat: Chat;
  results: Map<string, Result>;
}

// The end of the chat, below the last message: the run's progress or summary, a question, a failure.
function Tail({chat, results}: TailProps) {
  const {entries, progress, interrupt, failure, outcome} = useStore(chat.conversation);
  const lastRun = entries.at(-1)?.runId;
  return (
    <div class="tail">
      {progress && <RunProgress progress={progress} />}
      {interrupt && !progress && (
        <Question
          key={interrupt.reason}
          interrupt={interrupt}
          calls={openCalls(entries, results)}
          chat={chat}
        />
      )}
      {failure && <FailureNote failure={failure} onRetry={() => chat.retry()} />}
      {outcome === "stopped" && <p class="detail">Stopped.</p>}
      {!progress && lastRun && <RunSummary threadId={chat.threadId} runId={lastRun} />}
    </div>
  );
}

function Conversation({chat, attachments}: {chat: Chat; attachments: Attachments}) {
  const conversation = useStore(chat.conversation);
  const closed = useStore(chat.closed);
  const {entries, progress, interrupt, failure} = conversation;
  const results = useMemo(() => resultsOf(entries), [entries]);
  const shown = useMemo(() => entries.filter(isShown), [entries]);
  const resend = useCallback((id: string, content: Block[]) => void chat.resend(id, content), [chat]);
  const fork = useCallback(
    (id: string) =>
      void forkThread(chat.threadId, id).then(
        (made) => go("chat", made),
        (error) => chat.showFailure(error, () => fork(id)),
      ),
    [chat],
  );
  const actions = useMemo(() => ({resend, fork}), [resend, fork]);
  const busy = progress !== null || interrupt !== null || closed;

  if (shown.length === 0 && closed && !failure) return <Loading />;
  return (
    <>
      {shown.length === 0 && !failure ? (
        <Welcome />
      ) : (
        <VirtualList
          items={shown}
          keyOf={(entry) => entry.key}
          estimate={90}
          label="Conversation"
          role="log"
          sticky
          render={(entry, i) => (
            <MessageView
              entry={entry}
              results={results}
              running={progress !== null && i === shown.length - 1}
              busy={busy}
              actions={actions}
            />
          )}
          footer={<Tail chat={chat} results={results} />}
        />
      )}
      <Composer
        attachments={attachments}
        running={progress !== null}
        closed={closed}
        onSend={(content) => void chat.say(content)}
        onStop={() => chat.stop()}
      />
    </>
  );
}

export function Page({ids}: PageProps) {
  const [fresh, setFresh] = useState(randomId);
  const threadId = ids[0] ?? fresh;
  const chat = chatOf(threadId, threadId === fresh);
  const attachments = useMemo(() => new Attachments(), [threadId]);
  const {entries} = useStore(chat.conversation);
  const begun = threadId === fresh && entries.length > 0;
  useEffect(() => {
    if (begun) complete("chat", threadId);
  }, [begun, threadId]);
  const startNew = () => {
    setFresh(randomId());
    go("chat");
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    attachments.add(event.dataTransfer?.files ?? []);
  };
  return (
    <div class="chat" onDragOver={(event) => event.preventDefault()} onDrop={onDrop}>
      <ThreadList chat={chat} onNew={startNew} />
      <section class="talk" aria-label="Chat">
        <Conversation key={threadId} chat={chat} attachments={attachments} />
      </section>
    </div>
  );
}
