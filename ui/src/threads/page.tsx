import {useEffect, useState} from "preact/hooks";
import {listThreads, type Thread} from "../api/threads";
import {moment} from "../base/format";
import {shortId} from "../base/random";
import {href} from "../base/route";
import type {PageProps} from "../pages";
import {More, usePaged} from "../widgets/paged";
import {SearchBox} from "../widgets/search_box";
import {Empty, Panel} from "../widgets/states";
import {ThreadView} from "./thread";

const PAUSE_MS = 200;

// Changes a moment after the last key, so that not every letter starts a search.
function useAfterPause(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

function metadataOf({metadata}: Thread): string {
  return Object.entries(metadata)
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" ");
}

interface LinksProps {
  threads: Thread[];
  current: string | undefined;
  searched: boolean;
}

function Links({threads, current, searched}: LinksProps) {
  return (
    <ul class="links">
      {threads.map((thread) => (
        <li key={thread.thread_id}>
          <a
            href={href("threads", thread.thread_id)}
            aria-current={thread.thread_id === current ? "true" : undefined}
          >
            <span class="name">{thread.thread_name ?? shortId(thread.thread_id)}</span>
            {metadataOf(thread) && <span class="detail">{metadataOf(thread)}</span>}
            <time>{moment(thread.updated_at)}</time>
          </a>
        </li>
      ))}
      {threads.length === 0 && <li class="detail">{searched ? "Nothing found" : "No threads yet"}</li>}
    </ul>
  );
}

export function Page({ids}: PageProps) {
  const [text, setText] = useState("");
  const [metadata, setMetadata] = useState("");
  const search = {text: useAfterPause(text), metadata: useAfterPause(metadata)};
  const threads = usePaged(
    (cursor, signal) => listThreads({...search, cursor}, signal),
    [search.text, search.metadata],
  );
  const [current] = ids;
  return (
    <div class="page">
      <header class="top">
        <h1>Threads</h1>
        <SearchBox label="Search" onText={setText} />
        <SearchBox
          label="Metadata, such as topic=rain"
          placeholder="metadata: topic=rain"
          onText={setMetadata}
        />
      </header>
      <div class="master">
        <nav class="column" aria-label="Threads">
          <Panel of={threads}>
            {(found) => <Links threads={found} current={current} searched={text + metadata !== ""} />}
          </Panel>
          <More of={threads} />
        </nav>
        {current ? (
          <ThreadView
            key={current}
            threadId={current}
            thread={threads.value?.find(({thread_id}) => thread_id === current)}
            onDeleted={threads.reload}
          />
        ) : (
          <Empty title="Choose a thread" />
        )}
      </div>
    </div>
  );
}
