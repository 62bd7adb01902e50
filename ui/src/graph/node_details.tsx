import type {Graph, ToolNode} from "../api/graph";
import {JsonView} from "../widgets/json";
import {END_NAMES} from "./layout";

interface Props {
  graph: Graph;
  id: string;
  toolNodes: ToolNode[];
}

const ENDS: Record<string, string> = {
  __start__: "A run begins here.",
  __end__: "A run ends here.",
};

function nameOf(graph: Graph, id: string): string {
  return END_NAMES[id] ?? graph.nodes.find((node) => node.id === id)?.name ?? id;
}

function names(graph: Graph, ids: string[]): string {
  return ids.map((id) => nameOf(graph, id)).join(", ") || "none";
}

function pauses({info}: Graph, id: string): string {
  const before = info.interrupt_before?.includes(id);
  const after = info.interrupt_after?.includes(id);
  return [before && "before it runs", after && "after it has run"].filter(Boolean).join(" and ");
}

export function NodeDetails({graph, id, toolNodes}: Props) {
  const tools = toolNodes.find(({node_name}) => node_name === id)?.tools ?? [];
  const pause = pauses(graph, id);
  return (
    <div class="details">
      <h2>{nameOf(graph, id)}</h2>
      {ENDS[id] && <p>{ENDS[id]}</p>}
      <dl class="facts">
        <dt>Comes from</dt>
        <dd>
          {names(
            graph,
            graph.edges.filter(({target}) => target === id).map(({source}) => source),
          )}
        </dd>
        <dt>Leads to</dt>
        <dd>
          {names(
            graph,
            graph.edges.filter(({source}) => source === id).map(({target}) => target),
          )}
        </dd>
        {pause && (
          <>
            <dt>Pauses</dt>
            <dd>{pause}</dd>
          </>
        )}
      </dl>
      {tools.length > 0 && <h3>Tools</h3>}
      {tools.map(({name, description, source, parameters}) => (
        <details key={name} class="tool">
          <summary>
            <b>{name}</b>
            <span class="tag">{source}</span>
          </summary>
          <p>{description}</p>
          <p class="label">Parameters</p>
          <JsonView value={parameters} label={`Parameters of ${name}`} />
        </details>
      ))}
    </div>
  );
}
