import {readStateSchema, type Schema} from "../api/graph";
import {go} from "../base/route";
import {useStore} from "../base/store";
import {runOptions} from "../chat/chat";
import {Button} from "../widgets/button";
import {SchemaForm} from "../widgets/schema_form";
import {Panel, useLoad} from "../widgets/states";

// Members that every state has; runs set them.
const COMMON = new Set(["context", "execution_meta"]);

function ownFields(schema: Schema): Schema {
  const properties = Object.entries(schema.properties ?? {}).filter(([name]) => !COMMON.has(name));
  return {...schema, properties: Object.fromEntries(properties), required: []};
}

export function InitialState() {
  const schema = useLoad(readStateSchema, []);
  const {initialState} = useStore(runOptions);
  const use = (values: Record<string, unknown>) => {
    const chosen = Object.keys(values).length > 0 ? values : null;
    runOptions.set({...runOptions.get(), initialState: chosen});
    if (chosen) go("chat");
  };
  return (
    <div class="details">
      <h2>Initial state</h2>
      <p class="detail">The next message that you send in Chat sets these fields before its run.</p>
      <Panel of={schema}>
        {(value) => (
          <SchemaForm
            schema={ownFields(value)}
            values={initialState ?? {}}
            action="Use in the next run"
            onSubmit={use}
          />
        )}
      </Panel>
      {initialState && <Button label="Do not use it" onClick={() => use({})} />}
    </div>
  );
}
