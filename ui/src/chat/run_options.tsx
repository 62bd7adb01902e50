import type {Schema} from "../api/graph";
import {Dialog} from "../widgets/dialog";
import {SchemaForm} from "../widgets/schema_form";
import {runOptions} from "./chat";

const BUDGET: Schema = {
  properties: {
    tokens: {type: "integer", title: "Tokens", description: "Input and output of all model calls"},
    cost_usd: {type: "number", title: "Cost in US dollars", description: "Needs prices of the models"},
    seconds: {type: "number", title: "Seconds"},
    model_calls: {type: "integer", title: "Model calls"},
    tool_calls: {type: "integer", title: "Tool calls"},
  },
};

export function RunOptionsDialog({onClose}: {onClose: () => void}) {
  const {budget} = runOptions.get();
  const save = (values: Record<string, unknown>) => {
    runOptions.set({...runOptions.get(), budget: values});
    onClose();
  };
  return (
    <Dialog title="Limits of runs" onClose={onClose}>
      <p class="detail">A run that would go beyond a limit ends with an error. Empty: no limit.</p>
      <SchemaForm schema={BUDGET} values={{...budget}} action="Use these limits" onSubmit={save} />
    </Dialog>
  );
}
