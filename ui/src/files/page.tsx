import {useState} from "preact/hooks";
import {type FileRecord, fileInfo, readMultimodal, saveFile, uploadFile} from "../api/files";
import {seenFiles} from "../api/seen_files";
import {bytes} from "../base/format";
import {useStore} from "../base/store";
import {Button} from "../widgets/button";
import {CopyButton} from "../widgets/copy";
import {FileButton} from "../widgets/file_button";
import {JsonView} from "../widgets/json";
import {SearchForm} from "../widgets/search_box";
import {Empty, ErrorNote, useLoad} from "../widgets/states";

function remember(record: FileRecord): void {
  seenFiles.set([record, ...seenFiles.get().filter(({file_id}) => file_id !== record.file_id)]);
}

function FileItem({file, onError}: {file: FileRecord; onError: (error: unknown) => void}) {
  const name = file.filename ?? file.file_id;
  return (
    <li class="item">
      <div class="line">
        <b class="name">{name}</b>
        <span class="tag">{file.mime_type}</span>
        <span class="detail">{bytes(file.size_bytes)}</span>
        <span class="grow" />
        <CopyButton text={file.file_id} label="Copy the id" />
        <Button label="Download" onClick={() => void saveFile(file.file_id, name).catch(onError)} />
      </div>
      <code class="detail">{file.file_id}</code>
      {file.extracted_text && (
        <details>
          <summary>Text that models read</summary>
          <JsonView value={file.extracted_text} label={`Text of ${name}`} />
        </details>
      )}
    </li>
  );
}

export function Page() {
  const files = useStore(seenFiles);
  const limits = useLoad(readMultimodal, []);
  const [error, setError] = useState<unknown>(null);
  const take = (loading: Promise<FileRecord>) =>
    void loading.then((record) => {
      setError(null);
      remember(record);
    }, setError);
  const upload = (chosen: Iterable<File>) => {
    for (const file of chosen) take(uploadFile(file));
  };
  return (
    <div
      class="page"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        upload(event.dataTransfer?.files ?? []);
      }}
    >
      <header class="top">
        <h1>Files</h1>
        <SearchForm label="Id of a file" action="Look up" onText={(id) => id && take(fileInfo(id))} />
        <span class="grow" />
        <span class="detail">{limits.value && `at most ${limits.value.media_max_size_mb} MB each`}</span>
        <FileButton icon="plus" label="Upload" onFiles={upload} />
      </header>
      <div class="body">
        {error !== null && <ErrorNote error={error} />}
        {files.length === 0 ? (
          <Empty title="No files yet">
            <p>Drop files here, or look one up by its id. Files that you attach in Chat appear here, too.</p>
          </Empty>
        ) : (
          <ul class="items" aria-label="Files">
            {files.map((file) => (
              <FileItem key={file.file_id} file={file} onError={setError} />
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}
