import {useState} from "preact/hooks";
import {type Graph, readGraph, readTools, type ToolNode} from "../api/graph";
import {href} from "../base/route";
import {Panel, useLoad} from "../widgets/states";
import {InitialState} from "./initial_state";
import {NodeDetails} from "./node_details";
import {useRunning} from "./running";
import {GraphView} from "./view";

function Drawing({graph, toolNodes}: {graph: Graph; toolNodes: ToolNode[]}) {
  const [selected, setSelected] = useState<string | null>(null);
  const running = useRunning(graph.info.checkpointer);
  return (
    <div class="split">
      <div class="canvas" tabIndex={0} role="region" aria-label="Drawing">
        {running && (
          <p class="floating">
            <span class="tag live">{running.node ?? "a run"} is running</span>{" "}
            <a href={href("chat", running.threadId)}>Chat</a>{" "}
            <a href={href("runs", running.threadId, running.runId)}>Trace</a>
          </p>
        )}
        <GraphView
          graph={graph}
          running={running?.node ?? null}
          selected={selected}
          sideways={false}
          onSelect={(id) => setSelected(id === selected ? null : id)}
        />
      </div>
      <aside class="side" aria-label="Details">
        {selected ? (
          <NodeDetails graph={graph} id={selected} toolNodes={toolNodes} />
        ) : (
          <p class="detail">Choose a node to see its edges and tools.</p>
        )}
        <InitialState />
      </aside>
    </div>
  );
}

export function Page() {
  const loaded = useLoad(
    async (signal) => ({graph: await readGraph(), toolNodes: await readTools(signal)}),
    [],
  );
  return (
    <div class="page">
      <header class="top">
        <h1>Graph</h1>
      </header>
      <Panel of={loaded}>{({graph, toolNodes}) => <Drawing graph={graph} toolNodes={toolNodes} />}</Panel>
    </div>
  );
}
