// A value that components can watch.
import {useEffect, useState} from "preact/hooks";

export class Store<T> {
  private listeners = new Set<() => void>();

  constructor(private value: T) {}

  get(): T {
    return this.value;
  }

  set(value: T): void {
    this.value = value;
    for (const listener of [...this.listeners]) listener();
  }

  watch(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

export function useStore<T>(store: Store<T>): T {
  const [, redraw] = useState(0);
  const value = store.get();
  useEffect(() => {
    const changed = () => redraw((count) => count + 1);
    // The value may have changed since the component was drawn.
    if (store.get() !== value) changed();
    return store.watch(changed);
  }, [store]);
  return value;
}
