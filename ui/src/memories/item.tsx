import {useState} from "preact/hooks";
import {changeMemory, deleteMemory, type Memory, memoryText} from "../api/memories";
import {Button} from "../widgets/button";
import {Confirm} from "../widgets/dialog";
import {ErrorNote} from "../widgets/states";

export function MemoryItem({memory, onChanged}: {memory: Memory; onChanged: () => void}) {
  const [text, setText] = useState<string | null>(null);
  const [asking, setAsking] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const save = (event: Event) => {
    event.preventDefault();
    changeMemory(memory.memory_id, text ?? "").then(() => {
      setText(null);
      onChanged();
    }, setError);
  };
  return (
    <article class="item">
      {text === null ? (
        <p class="plain">{memoryText(memory)}</p>
      ) : (
        <form class="fields" onSubmit={save}>
          <textarea
            aria-label="Memory"
            rows={3}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <div class="actions">
            <Button label="Cancel" onClick={() => setText(null)} />
            <Button label="Save" kind="main" type="submit" />
          </div>
        </form>
      )}
      <div class="line">
        {memory.score != null && <span class="tag live">score {memory.score.toFixed(3)}</span>}
        {memory.category && <span class="tag">{memory.category}</span>}
        {memory.memory_type && <span class="tag">{memory.memory_type}</span>}
        <span class="grow" />
        <Button icon="edit" label="Edit" kind="quiet" hideLabel onClick={() => setText(memoryText(memory))} />
        <Button icon="trash" label="Forget" kind="quiet" hideLabel onClick={() => setAsking(true)} />
      </div>
      {error !== null && <ErrorNote error={error} />}
      {asking && (
        <Confirm
          title="Forget this?"
          text={memoryText(memory)}
          action="Forget"
          onYes={() => void deleteMemory(memory.memory_id).then(onChanged, setError)}
          onClose={() => setAsking(false)}
        />
      )}
    </article>
  );
}
