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
];
