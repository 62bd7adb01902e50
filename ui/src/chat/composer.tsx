import {useState} from "preact/hooks";
import type {Block} from "../api/messages";
import {useStore} from "../base/store";
import {Button} from "../widgets/button";
import {FileButton} from "../widgets/file_button";
import {AttachmentList, type Attachments} from "./attachments";
import {runOptions} from "./chat";
import {RunOptionsDialog} from "./run_options";

interface Props {
  attachments: Attachments;
  running: boolean;
  closed: boolean; // nothing can be sent now
  onSend: (content: Block[]) => void;
  onStop: () => void;
}

function OptionChips({onOpen}: {onOpen: () => void}) {
  const {budget, initialState} = useStore(runOptions);
  const limits = Object.keys(budget).length;
  if (limits === 0 && !initialState) return null;
  return (
    <div class="attachments">
      {limits > 0 && (
        <button type="button" class="chip" onClick={onOpen}>
          Budget:{" "}
          {Object.entries(budget)
            .map(([name, value]) => `${value} ${name.replace("_", " ")}`)
            .join(", ")}
        </button>
      )}
      {initialState && (
        <button
          type="button"
          class="chip"
          onClick={() => runOptions.set({...runOptions.get(), initialState: null})}
        >
          Initial state: {Object.keys(initialState).join(", ")} ✕
        </button>
      )}
    </div>
  );
}

export function Composer({attachments, running, closed, onSend, onStop}: Props) {
  const [text, setText] = useState("");
  const [options, setOptions] = useState(false);
  const files = useStore(attachments.list);
  const uploading = files.some(({record, error}) => !record && !error);
  const written = text.trim() !== "" || files.some(({record}) => record);
  const ready = !running && !closed && !uploading && written;

  const submit = () => {
    if (!ready) return;
    const content: Block[] = text.trim() ? [{type: "text", text}] : [];
    onSend([...content, ...attachments.take()]);
    setText("");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  };
  const onPaste = (event: ClipboardEvent) => {
    const pasted = [...(event.clipboardData?.files ?? [])];
    if (pasted.length === 0) return;
    event.preventDefault();
    attachments.add(pasted);
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <AttachmentList attachments={attachments} />
      <OptionChips onOpen={() => setOptions(true)} />
      <textarea
        aria-label="Message"
        placeholder="Message the agent"
        rows={Math.min(8, text.split("\n").length)}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      <div class="bar">
        <FileButton icon="clip" label="Attach files" quiet onFiles={(chosen) => attachments.add(chosen)} />
        <Button icon="tune" label="Limits of runs" kind="quiet" hideLabel onClick={() => setOptions(true)} />
        <span class="grow" />
        {running ? (
          <Button icon="stop" label="Stop" onClick={onStop} />
        ) : (
          <Button icon="send" label="Send" kind="main" hideLabel type="submit" disabled={!ready} />
        )}
      </div>
      {options && <RunOptionsDialog onClose={() => setOptions(false)} />}
    </form>
  );
}
