import {listThreads, type Thread} from "../api/threads";
import {moment} from "../base/format";
import {shortId} from "../base/random";
import {href} from "../base/route";
import {useStore} from "../base/store";
import {Button} from "../widgets/button";
import {More, usePaged} from "../widgets/paged";
import {Panel} from "../widgets/states";
import {type Chat, titleOf} from "./chat";

interface Props {
  chat: Chat; // that is shown
  onNew: () => void;
}

function nameOf({thread_id, thread_name}: Thread): string {
  return thread_name || titleOf(thread_id) || shortId(thread_id);
}

export function ThreadList({chat, onNew}: Props) {
  const {progress} = useStore(chat.conversation);
  // A run that has begun or ended changes the list.
  const causes = [chat, progress?.runId];
  const threads = usePaged((cursor, signal) => listThreads({cursor}, signal), [], causes);
  return (
    <aside class="list" aria-label="Threads">
      <div class="top">
        <h1>Chat</h1>
        <Button icon="plus" label="New thread" hideLabel onClick={onNew} />
      </div>
      <Panel of={threads}>
        {(found) => (
          <ul>
            {found.map((thread) => (
              <li key={thread.thread_id}>
                <a
                  href={href("chat", thread.thread_id)}
                  aria-current={thread.thread_id === chat.threadId ? "true" : undefined}
                >
                  <span class="name">{nameOf(thread)}</span>
                  <time>{moment(thread.updated_at)}</time>
                </a>
              </li>
            ))}
            {found.length === 0 && <li class="detail">No threads yet</li>}
          </ul>
        )}
      </Panel>
      <More of={threads} />
    </aside>
  );
}
