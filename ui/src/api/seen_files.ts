// Files that this page has uploaded or looked up. The service has no list of files.
import {Store} from "../base/store";
import type {FileRecord} from "./files";
import {forgetWith} from "./session";

export const seenFiles = new Store<FileRecord[]>([]);
forgetWith(() => seenFiles.set([]));
