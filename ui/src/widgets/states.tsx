// Contents of a panel while it loads, when it is empty, and when it has failed.
import type {ComponentChildren} from "preact";
import {useCallback, useEffect, useState} from "preact/hooks";
import {ApiError} from "../api/request";
import {Button} from "./button";

export interface Loaded<T> {
  value: T | null;
  error: unknown;
  loading: boolean;
  reload: () => void;
  set: (value: T) => void;
}

// Loads when a dependency changes, and on reload(). The value stays while it is loaded again.
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, dependencies: unknown[]): Loaded<T> {
  const [state, setState] = useState<{value: T | null; error: unknown; loading: boolean}>({
    value: null,
    error: null,
    loading: true,
  });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const leaving = new AbortController();
    setState((old) => ({...old, loading: true}));
    load(leaving.signal).then(
      (value) => !leaving.signal.aborted && setState({value, error: null, loading: false}),
      (error) => !leaving.signal.aborted && setState((old) => ({...old, error, loading: false})),
    );
    return () => leaving.abort();
  }, [...dependencies, round]);
  const reload = useCallback(() => setRound((one) => one + 1), []);
  const set = useCallback((value: T) => setState({value, error: null, loading: false}), []);
  return {...state, reload, set};
}

interface ErrorProps {
  error: unknown;
  onRetry?: (() => void) | undefined;
}

export function ErrorNote({error, onRetry}: ErrorProps) {
  const text = error instanceof Error ? error.message : String(error);
  const known = error instanceof ApiError ? error : null;
  return (
    <div class="note error" role="alert">
      <p>{text}</p>
      {known && (
        <p class="detail">
          <span>{known.code}</span>
          {known.requestId && (
            <span>
              request <code>{known.requestId}</code>
            </span>
          )}
        </p>
      )}
      {onRetry && <Button label="Try again" icon="retry" onClick={onRetry} />}
    </div>
  );
}

export function Empty({title, children}: {title: string; children?: ComponentChildren}) {
  return (
    <div class="empty">
      <p class="title">{title}</p>
      {children && <div class="detail">{children}</div>}
    </div>
  );
}

export function Loading() {
  return (
    <output class="loading">
      <span class="spinner" aria-hidden="true" />
      Loading…
    </output>
  );
}

interface PanelProps<T> {
  of: Pick<Loaded<T>, "value" | "error" | "reload">;
  children: (value: T) => ComponentChildren;
}

export function Panel<T>({of, children}: PanelProps<T>) {
  if (of.error) return <ErrorNote error={of.error} onRetry={of.reload} />;
  if (of.value === null) return <Loading />;
  return <>{children(of.value)}</>;
}
