import {blockType, type FileRecord, uploadFile} from "../api/files";
import type {Block} from "../api/messages";
import {seenFiles} from "../api/seen_files";
import {randomId} from "../base/random";
import {Store, useStore} from "../base/store";
import {Button} from "../widgets/button";
import {Icon} from "../widgets/icon";

export interface Attachment {
  key: string;
  name: string;
  record: FileRecord | null;
  error: string | null;
}

// The files that the next message will have.
export class Attachments {
  readonly list = new Store<Attachment[]>([]);

  add(files: Iterable<File>): void {
    for (const file of files) {
      const key = randomId();
      this.list.set([...this.list.get(), {key, name: file.name || "pasted", record: null, error: null}]);
      uploadFile(file).then(
        (record) => {
          seenFiles.set([record, ...seenFiles.get()]);
          this.change(key, {record});
        },
        (error: Error) => this.change(key, {error: error.message}),
      );
    }
  }

  private change(key: string, change: Partial<Attachment>): void {
    this.list.set(this.list.get().map((one) => (one.key === key ? {...one, ...change} : one)));
  }

  remove(key: string): void {
    this.list.set(this.list.get().filter((one) => one.key !== key));
  }

  // Takes the uploaded files out as blocks of a message.
  take(): Block[] {
    const records = this.list.get().flatMap(({record}) => record ?? []);
    this.list.set([]);
    return records.map((record) => ({
      type: blockType(record.mime_type),
      file_id: record.file_id,
      media: {
        kind: "file_id",
        file_id: record.file_id,
        mime_type: record.mime_type,
        filename: record.filename ?? "file",
      },
    }));
  }
}

export function AttachmentList({attachments}: {attachments: Attachments}) {
  const list = useStore(attachments.list);
  if (list.length === 0) return null;
  return (
    <ul class="attachments" aria-label="Attachments">
      {list.map(({key, name, record, error}) => (
        <li key={key} class={`chip ${error ? "failed" : ""}`}>
          {record || error ? <Icon name="files" /> : <span class="spinner" aria-hidden="true" />}
          <span>{error ? `${name}: ${error}` : name}</span>
          <Button
            icon="close"
            label={`Remove ${name}`}
            kind="quiet"
            hideLabel
            onClick={() => attachments.remove(key)}
          />
        </li>
      ))}
    </ul>
  );
}
