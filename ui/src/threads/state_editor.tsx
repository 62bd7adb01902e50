import {useState} from "preact/hooks";
import type {Json, JsonObject} from "../api/messages";
import {fieldsOf} from "../api/snapshots";
import {type State, writeState} from "../api/threads";
import {dropChat} from "../chat/chat";
import {Button} from "../widgets/button";
import {ErrorNote} from "../widgets/states";
import {changes, patchOf} from "./diff";
import {DiffView} from "./diff_view";

interface Props {
  threadId: string;
  state: State;
  onSaved: (state: State) => void;
}

type Draft = Record<string, string>; // texts by field: JSON

function draftOf(fields: JsonObject): Draft {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, JSON.stringify(value, null, 2)]),
  );
}

// Texts that are no JSON are taken as they are, so that people need no quotes.
function parsed(text: string): Json | undefined {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

function valuesOf(draft: Draft): JsonObject {
  const entries = Object.entries(draft).map(([name, text]) => [name, parsed(text)] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as JsonObject;
}

function AddField({taken, onAdd}: {taken: string[]; onAdd: (name: string) => void}) {
  const [name, setName] = useState("");
  const add = (event: Event) => {
    event.preventDefault();
    if (name.trim() && !taken.includes(name.trim())) onAdd(name.trim());
    setName("");
  };
  return (
    <form class="line" onSubmit={add}>
      <input
        aria-label="Name of a new field"
        placeholder="Name of a new field"
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <Button label="Add" icon="plus" type="submit" />
    </form>
  );
}

export function StateEditor({threadId, state, onSaved}: Props) {
  const before = fieldsOf(state);
  const [draft, setDraft] = useState(() => draftOf(before));
  const [error, setError] = useState<unknown>(null);
  const after = valuesOf(draft);
  const differences = changes(before, after);
  const save = () =>
    writeState(threadId, patchOf(before, after)).then((saved) => {
      setError(null);
      dropChat(threadId);
      onSaved(saved);
    }, setError);
  return (
    <div class="details state">
      {Object.entries(draft).map(([name, text]) => (
        <label key={name} class="field">
          <span>{name}</span>
          <textarea
            class="code"
            rows={Math.min(12, text.split("\n").length)}
            value={text}
            spellcheck={false}
            onInput={(event) => setDraft({...draft, [name]: event.currentTarget.value})}
          />
        </label>
      ))}
      {Object.keys(draft).length === 0 && <p class="detail">The state has no fields of the graph yet.</p>}
      <AddField taken={Object.keys(draft)} onAdd={(name) => setDraft({...draft, [name]: ""})} />
      <p class="detail">Values are JSON or text. An empty value clears its field.</p>
      {differences.length > 0 && (
        <section class="note" aria-label="Changes">
          <h2>Changes</h2>
          <DiffView changes={differences} />
          <div class="actions">
            <Button label="Undo" onClick={() => setDraft(draftOf(before))} />
            <Button label="Save" kind="main" onClick={save} />
          </div>
        </section>
      )}
      {error !== null && <ErrorNote error={error} />}
    </div>
  );
}
