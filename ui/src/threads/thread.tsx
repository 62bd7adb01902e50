import {useState} from "preact/hooks";
import {forkThread} from "../api/fork";
import {deleteThread, readState, type Thread} from "../api/threads";
import {moment} from "../base/format";
import {go, href} from "../base/route";
import {dropChat} from "../chat/chat";
import {Button} from "../widgets/button";
import {Confirm} from "../widgets/dialog";
import {ErrorNote, Panel, useLoad} from "../widgets/states";
import {Tabs} from "../widgets/tabs";
import {Comparison} from "./comparison";
import {History} from "./history";
import {StateEditor} from "./state_editor";

const TABS = ["State", "History", "Compare"];

interface Props {
  threadId: string;
  thread: Thread | undefined;
  onDeleted: () => void;
}

function Heading({threadId, thread}: Pick<Props, "threadId" | "thread">) {
  const facts = [thread?.user_id && `of ${thread.user_id}`, thread && `changed ${moment(thread.updated_at)}`];
  return (
    <p class="facts-line">
      <b>{thread?.thread_name ?? threadId}</b>
      <span class="detail">{facts.filter(Boolean).join(" · ")}</span>
      <a href={href("chat", threadId)}>Chat</a>
      <a href={href("runs", threadId)}>Runs</a>
    </p>
  );
}

export function ThreadView({threadId, thread, onDeleted}: Props) {
  const [tab, setTab] = useState("State");
  const [asking, setAsking] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const state = useLoad((signal) => readState(threadId, signal), [threadId]);
  const remove = () =>
    deleteThread(threadId).then(() => {
      dropChat(threadId);
      onDeleted();
      go("threads");
    }, setError);
  const fork = () => forkThread(threadId, "").then((made) => go("chat", made), setError);
  return (
    <section class="trace" aria-label="Thread">
      <Heading threadId={threadId} thread={thread} />
      <div class="tabs">
        <Tabs tabs={TABS} current={tab} onChange={setTab} />
        <Button icon="fork" label="Fork" kind="quiet" onClick={fork} />
        <Button icon="trash" label="Delete" kind="quiet" onClick={() => setAsking(true)} />
      </div>
      {error !== null && <ErrorNote error={error} />}
      {tab === "History" ? (
        <History threadId={threadId} />
      ) : (
        <div class="pad">
          <Panel of={state}>
            {(value) =>
              tab === "State" ? (
                <StateEditor
                  key={JSON.stringify(value)}
                  threadId={threadId}
                  state={value}
                  onSaved={state.set}
                />
              ) : (
                <Comparison threadId={threadId} state={value} />
              )
            }
          </Panel>
        </div>
      )}
      {asking && (
        <Confirm
          title="Delete this thread?"
          text="Its messages, state and runs are gone then."
          action="Delete"
          onYes={remove}
          onClose={() => setAsking(false)}
        />
      )}
    </section>
  );
}
