import {useState} from "preact/hooks";
import {addMemory, listMemories, type MemorySearch, searchMemories} from "../api/memories";
import {Button} from "../widgets/button";
import {Dialog} from "../widgets/dialog";
import {More, usePaged} from "../widgets/paged";
import {SchemaForm} from "../widgets/schema_form";
import {SearchForm} from "../widgets/search_box";
import {Empty, ErrorNote, Panel} from "../widgets/states";
import {VirtualList} from "../widgets/virtual";
import {MemoryItem} from "./item";

const STRATEGIES = ["similarity", "hybrid"];
const METRICS = ["cosine", "euclidean", "dot_product"];
const NEW = {
  required: ["content"],
  properties: {content: {type: "string", title: "Text"}, category: {type: "string", title: "Category"}},
};

function Choice({
  label,
  value,
  choices,
  onChange,
}: {
  label: string;
  value: string;
  choices: string[];
  onChange: (value: string) => void;
}) {
  return (
    <label class="inline">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice.replace("_", " ")}
          </option>
        ))}
      </select>
    </label>
  );
}

function Choices({search, onChange}: {search: MemorySearch; onChange: (search: MemorySearch) => void}) {
  return (
    <>
      <Choice
        label="Strategy"
        value={search.retrieval_strategy}
        choices={STRATEGIES}
        onChange={(retrieval_strategy) => onChange({...search, retrieval_strategy})}
      />
      <Choice
        label="Distance"
        value={search.distance_metric}
        choices={METRICS}
        onChange={(distance_metric) => onChange({...search, distance_metric})}
      />
    </>
  );
}

function AddDialog({onAdded, onClose}: {onAdded: () => void; onClose: () => void}) {
  const [error, setError] = useState<unknown>(null);
  const add = ({content, category}: Record<string, unknown>) =>
    void addMemory(String(content), category ? String(category) : "").then(() => {
      onClose();
      onAdded();
    }, setError);
  return (
    <Dialog title="New memory" onClose={onClose}>
      <SchemaForm schema={NEW} action="Add" onSubmit={add} />
      {error !== null && <ErrorNote error={error} />}
    </Dialog>
  );
}

export function Page() {
  const [search, setSearch] = useState<MemorySearch>({
    query: "",
    retrieval_strategy: "similarity",
    distance_metric: "cosine",
  });
  const [adding, setAdding] = useState(false);
  const memories = usePaged(
    (cursor, signal) => (search.query ? searchMemories(search, signal) : listMemories(cursor, signal)),
    [search],
  );
  return (
    <div class="page">
      <header class="top">
        <h1>Memories</h1>
        <SearchForm
          label="Search"
          placeholder="Search by meaning"
          action="Search"
          onText={(query) => setSearch({...search, query})}
        />
        {search.query && <Choices search={search} onChange={setSearch} />}
        <span class="grow" />
        <Button icon="plus" label="New memory" onClick={() => setAdding(true)} />
      </header>
      <Panel of={memories}>
        {(found) =>
          found.length === 0 ? (
            <Empty title={search.query ? "Nothing found" : "No memories yet"}>
              {!search.query && <p>The agent stores them when it learns something about its users.</p>}
            </Empty>
          ) : (
            <VirtualList
              items={found}
              keyOf={({memory_id}) => memory_id}
              estimate={110}
              label="Memories"
              render={(memory) => <MemoryItem memory={memory} onChanged={memories.reload} />}
              footer={<More of={memories} />}
            />
          )
        }
      </Panel>
      {adding && <AddDialog onAdded={memories.reload} onClose={() => setAdding(false)} />}
    </div>
  );
}
