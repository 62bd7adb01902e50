import {useEffect, useState} from "preact/hooks";
import {listThreads, type Thread} from "../api/threads";
import {moment} from "../base/format";
import {shortId} from "../base/random";
import {href} from "../base/route";
import type {PageProps} from "../pages";
import {Button} from "../widgets/button";
import {SearchBox} from "../widgets/search_box";
import {Empty, ErrorNote, Loading} from "../widgets/states";
import {ThreadView} from "./thread";

interface Found {
  threads: Thread[];
  cursor: string | null;
}

// The pages of a search that have been asked for.
function useThreads(text: string, metadata: string) {
  const [found, setFound] = useState<Found | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [round, setRound] = useState(0);
  const read = (cursor: string, older: Thread[], signal?: AbortSignal) =>
    listThreads({text, metadata, cursor}, signal).then(
      (page) => {
        setError(null);
        setFound({threads: [...older, ...page.threads], cursor: page.next_cursor});
      },
      (reason) => !signal?.aborted && setError(reason),
    );
  useEffect(() => {
    const leaving = new AbortController();
    // Waits a moment after the last key, so that not every letter starts a search.
    const timer = setTimeout(() => void read("", [], leaving.signal), found ? 200 : 0);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [text, metadata, round]);
  const more = found?.cursor ? () => void read(found.cursor as string, found.threads) : null;
  return {found, error, more, reload: () => setRound((one) => one + 1)};
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
  const {found, error, more, reload} = useThreads(text, metadata);
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
          {error ? (
            <ErrorNote error={error} onRetry={reload} />
          ) : !found ? (
            <Loading />
          ) : (
            <Links threads={found.threads} current={current} searched={text + metadata !== ""} />
          )}
          {more && <Button label="More" onClick={more} />}
        </nav>
        {current ? (
          <ThreadView
            key={current}
            threadId={current}
            thread={found?.threads.find(({thread_id}) => thread_id === current)}
            onDeleted={reload}
          />
        ) : (
          <Empty title="Choose a thread" />
        )}
      </div>
    </div>
  );
}
