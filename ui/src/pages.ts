// The pages of Studio. Each is loaded when it is first shown.
import type {ComponentType} from "preact";
import type {IconName} from "./widgets/icon";

export interface PageProps {
  ids: string[];
}

type Module = {Page: ComponentType<PageProps>};

export interface PageEntry {
  id: string;
  title: string;
  icon: IconName;
  load: () => Promise<Module>;
}

export const PAGES: PageEntry[] = [
  {id: "chat", title: "Chat", icon: "chat", load: () => import("./chat/page")},
  {id: "graph", title: "Graph", icon: "graph", load: () => import("./graph/page")},
  {id: "threads", title: "Threads", icon: "threads", load: () => import("./threads/page")},
  {id: "runs", title: "Runs", icon: "runs", load: () => import("./runs/page")},
  {id: "memories", title: "Memories", icon: "memories", load: () => import("./memories/page")},
  {id: "files", title: "Files", icon: "files", load: () => import("./files/page")},
  {id: "evals", title: "Evals", icon: "evals", load: () => import("./evals/page")},
  {id: "live", title: "Live", icon: "live", load: () => import("./live/page")},
  {id: "server", title: "Server", icon: "server", load: () => import("./server/page")},
];
