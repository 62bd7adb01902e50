// Lists that the service sends in pages: "More" adds the next one.
import {useEffect, useRef, useState} from "preact/hooks";
import type {ListPage} from "../api/pages";
import {Button} from "./button";
import {ErrorNote, type Loaded} from "./states";

type Read<T> = (cursor: string, signal: AbortSignal) => Promise<ListPage<T>>;

export interface Paged<T> extends Pick<Loaded<T[]>, "value" | "error" | "reload"> {
  more: (() => void) | null;
  moreError: unknown;
}

// Reads pages until they have `count` items, or all.
async function readItems<T>(read: Read<T>, count: number, signal: AbortSignal): Promise<ListPage<T>> {
  const all = await read("", signal);
  while (all.next && all.items.length < count) {
    const page = await read(all.next, signal);
    all.items.push(...page.items);
    all.next = page.next;
  }
  return all;
}

interface State<T> {
  value: T[] | null;
  next: string | null;
  error: unknown;
  moreError: unknown;
}

// Reads the first page when a dependency changes. reload(), or a change of `causes`, reads as many items again as are
// shown. The items stay until others have arrived.
export function usePaged<T>(read: Read<T>, dependencies: unknown[], causes: unknown[] = []): Paged<T> {
  const [state, setState] = useState<State<T>>({value: null, next: null, error: null, moreError: null});
  const [round, setRound] = useState(0);
  const {value, next, error, moreError} = state;
  const list = useRef<unknown[] | null>(null); // the dependencies of the items
  const reading = useRef(new AbortController());
  // Only one request is under way: an answer for an earlier list would replace the list that is shown.
  const take = (request: (signal: AbortSignal) => Promise<Partial<State<T>>>) => {
    reading.current.abort();
    reading.current = new AbortController();
    const {signal} = reading.current;
    request(signal).then((change) => !signal.aborted && setState((old) => ({...old, ...change})));
  };
  useEffect(() => {
    const same = list.current?.every((one, i) => one === dependencies[i]);
    const count = same ? (value?.length ?? 0) : 0;
    list.current = dependencies;
    take((signal) =>
      readItems(read, count, signal).then(
        ({items, next}) => ({value: items, next, error: null, moreError: null}),
        (error) => ({error}),
      ),
    );
    return () => reading.current.abort();
  }, [...dependencies, ...causes, round]);
  const more = () =>
    take((signal) =>
      read(next ?? "", signal).then(
        (page) => ({value: [...(value ?? []), ...page.items], next: page.next, moreError: null}),
        (reason) => ({moreError: reason}),
      ),
    );
  const reload = () => setRound((one) => one + 1);
  return {value, error, moreError, more: next ? more : null, reload};
}

export function More({of, label = "More"}: {of: Paged<unknown>; label?: string}) {
  if (!of.more) return null;
  return (
    <div class="more">
      {of.moreError !== null && <ErrorNote error={of.moreError} />}
      <Button label={label} onClick={of.more} />
    </div>
  );
}
