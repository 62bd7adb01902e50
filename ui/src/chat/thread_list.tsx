import {useEffect} from "preact/hooks";
import {listThreads, type Thread} from "../api/threads";
import {moment} from "../base/format";
import {shortId} from "../base/random";
import {href} from "../base/route";
import {useStore} from "../base/store";
import {Button} from "../widgets/button";
import {Panel, useLoad} from "../widgets/states";
import {chatOf, titleOf} from "./chat";

interface Props {
  current: string;
  onNew: () => void;
}

function nameOf({thread_id, thread_name}: Thread): string {
  return thread_name || titleOf(thread_id) || shortId(thread_id);
}

export function ThreadList({current, onNew}: Props) {
  const threads = useLoad((signal) => listThreads({text: "", metadata: "", cursor: ""}, signal), [current]);
  const {progress} = useStore(chatOf(current, true).conversation);
  // A run that has begun or ended changes the list.
  useEffect(() => threads.reload(), [progress?.runId]);
  return (
    <aside class="list" aria-label="Threads">
      <div class="top">
        <h1>Chat</h1>
        <Button icon="plus" label="New thread" hideLabel onClick={onNew} />
      </div>
      <Panel of={threads}>
        {({threads: found}) => (
          <ul>
            {found.map((thread) => (
              <li key={thread.thread_id}>
                <a
                  href={href("chat", thread.thread_id)}
                  aria-current={thread.thread_id === current ? "true" : undefined}
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
    </aside>
  );
}
