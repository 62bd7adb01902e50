import {useMemo} from "preact/hooks";
import type {Graph} from "../api/graph";
import {layOut, type PlacedNode} from "./layout";

interface Props {
  graph: Graph;
  running: string | null;
  selected: string | null;
  sideways: boolean;
  onSelect: (id: string) => void;
}

function Node({
  node,
  running,
  selected,
  onSelect,
}: {node: PlacedNode} & Pick<Props, "running" | "selected" | "onSelect">) {
  const {id, name, x, y, width, height, isEnd} = node;
  const lit = running === id;
  const choose = () => onSelect(id);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose();
  };
  return (
    <g
      class={`node${isEnd ? " end" : ""}${lit ? " lit" : ""}`}
      transform={`translate(${x - width / 2} ${y - height / 2})`}
      role="button"
      tabindex={0}
      aria-label={lit ? `${name}, running` : name}
      aria-pressed={selected === id}
      onClick={choose}
      onKeyDown={onKeyDown}
    >
      <rect width={width} height={height} rx={isEnd ? height / 2 : 10} />
      <text x={width / 2} y={height / 2} dy="0.35em" text-anchor="middle">
        {name}
      </text>
    </g>
  );
}

export function GraphView(props: Props) {
  const {graph, running, selected, sideways} = props;
  const {width, height, nodes, edges} = useMemo(() => layOut(graph, sideways), [graph, sideways]);
  return (
    <svg
      class="graph"
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      role="group"
      aria-label="Graph"
    >
      <defs>
        <marker
          id="arrow"
          viewBox="0 0 10 10"
          refX="9"
          refY="5"
          markerWidth="7"
          markerHeight="7"
          orient="auto"
        >
          <path d="M0,1 L9,5 L0,9 z" />
        </marker>
      </defs>
      {edges.map(({id, source, target, path}) => (
        <path
          key={id}
          class={`edge${selected === source || selected === target ? " near" : ""}`}
          d={path}
          marker-end="url(#arrow)"
        />
      ))}
      {nodes.map((node) => (
        <Node key={node.id} node={node} running={running} selected={selected} onSelect={props.onSelect} />
      ))}
    </svg>
  );
}
