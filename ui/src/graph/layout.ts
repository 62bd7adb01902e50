// Places the nodes of the graph and the points of its edges.
import dagre from "@dagrejs/dagre";
import type {Graph} from "../api/graph";

export interface PlacedNode {
  id: string;
  name: string;
  x: number; // centre
  y: number;
  width: number;
  height: number;
  isEnd: boolean; // one of the two ends of the graph
}

export interface PlacedEdge {
  id: string;
  source: string;
  target: string;
  path: string;
}

export interface Layout {
  width: number;
  height: number;
  nodes: PlacedNode[];
  edges: PlacedEdge[];
}

const HEIGHT = 40;
const MARGIN = 16;
const LETTER = 8.4;
export const END_NAMES: Record<string, string> = {__start__: "START", __end__: "END"};

// A smooth line through the points that the layout has chosen.
function curve(points: {x: number; y: number}[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  const last = rest.at(-1);
  let path = `M${first.x},${first.y}`;
  rest.slice(0, -1).forEach((point, i) => {
    const next = rest[i + 1] as {x: number; y: number};
    const isLast = next === last;
    const end = isLast ? next : {x: (point.x + next.x) / 2, y: (point.y + next.y) / 2};
    path += ` Q${point.x},${point.y} ${end.x},${end.y}`;
  });
  return rest.length === 1 && last ? `${path} L${last.x},${last.y}` : path;
}

export function layOut(graph: Graph, sideways: boolean): Layout {
  const drawing = new dagre.graphlib.Graph({multigraph: true});
  drawing.setGraph({
    rankdir: sideways ? "LR" : "TB",
    marginx: MARGIN,
    marginy: MARGIN,
    nodesep: 32,
    ranksep: 48,
  });
  drawing.setDefaultEdgeLabel(() => ({}));
  for (const {id, name} of graph.nodes) {
    const text = END_NAMES[id] ?? name;
    drawing.setNode(id, {width: Math.max(72, text.length * LETTER + 40), height: HEIGHT});
  }
  for (const {id, source, target} of graph.edges) drawing.setEdge(source, target, {}, id);
  dagre.layout(drawing);
  const nodes = graph.nodes.map(({id, name}) => {
    const {x = 0, y = 0, width = 0, height = 0} = drawing.node(id);
    return {id, name: END_NAMES[id] ?? name, x, y, width, height, isEnd: id in END_NAMES};
  });
  const edges = graph.edges.map(({id, source, target}) => ({
    id,
    source,
    target,
    path: curve(drawing.edge(source, target, id)?.points ?? []),
  }));
  const {width = 0, height = 0} = drawing.graph();
  return {width, height, nodes, edges};
}
