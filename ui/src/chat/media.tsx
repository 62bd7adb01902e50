import {useEffect, useState} from "preact/hooks";
import {fileBytes, saveFile} from "../api/files";
import type {Block} from "../api/messages";
import {Icon} from "../widgets/icon";

export type MediaBlock = Extract<Block, {type: "image" | "audio" | "video" | "document"}>;

// Types that a browser shows without running anything of theirs.
const SHOWN = /^(image\/(png|jpeg|gif|webp|avif)|audio\/)/;

function useBytes(fileId: string | undefined, wanted: boolean): string | null {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (!fileId || !wanted) return;
    const leaving = new AbortController();
    let made: string | null = null;
    fileBytes(fileId, leaving.signal).then(
      (bytes) => {
        if (leaving.signal.aborted || !SHOWN.test(bytes.type)) return;
        made = URL.createObjectURL(bytes);
        setUrl(made);
      },
      () => {},
    );
    return () => {
      leaving.abort();
      if (made) URL.revokeObjectURL(made);
    };
  }, [fileId, wanted]);
  return url;
}

export function Media({block}: {block: MediaBlock}) {
  const fileId = block.media?.file_id ?? block.file_id;
  const name = block.media?.filename ?? fileId ?? block.type;
  const [error, setError] = useState<Error | null>(null);
  const url = useBytes(fileId, block.type === "image" || block.type === "audio");
  if (url && block.type === "image") return <img class="attachment" src={url} alt={name} />;
  if (url && block.type === "audio") return <audio class="attachment" src={url} controls />;
  const save = () => {
    setError(null);
    if (fileId) saveFile(fileId, name).catch(setError);
  };
  return (
    <button type="button" class={`chip ${error ? "failed" : ""}`} disabled={!fileId} onClick={save}>
      <Icon name="files" />
      <span role={error ? "alert" : undefined}>{error ? `${name}: ${error.message}` : name}</span>
    </button>
  );
}
