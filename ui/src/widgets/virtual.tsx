// A long list of which only the visible part is in the page. Heights are estimated until they are measured.
import type {ComponentChildren} from "preact";
import {useEffect, useLayoutEffect, useMemo, useRef, useState} from "preact/hooks";

interface Props<T> {
  items: T[];
  keyOf: (item: T) => string;
  render: (item: T, index: number) => ComponentChildren;
  estimate: number; // pixels
  label: string;
  role?: "log" | "list";
  sticky?: boolean; // stays at the end while it is there
  header?: ComponentChildren;
  footer?: ComponentChildren;
}

const OVERSCAN_PX = 600;

// Index of the last offset that is not above `y`.
function indexAt(offsets: Float64Array, y: number): number {
  let low = 0;
  let high = offsets.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((offsets[middle] as number) <= y) low = middle;
    else high = middle - 1;
  }
  return low;
}

export function VirtualList<T>(props: Props<T>) {
  const {items, keyOf, render, estimate, label, role = "list", sticky = false} = props;
  const box = useRef<HTMLDivElement>(null);
  const heights = useRef(new Map<string, number>());
  const atEnd = useRef(sticky);
  const [view, setView] = useState({top: 0, height: 800});
  const [measured, setMeasured] = useState(0);

  const offsets = useMemo(() => {
    const sums = new Float64Array(items.length + 1);
    items.forEach((item, i) => {
      sums[i + 1] = (sums[i] as number) + (heights.current.get(keyOf(item)) ?? estimate);
    });
    return sums;
  }, [items, measured, estimate]);

  const observer = useMemo(
    () =>
      new ResizeObserver((changes) => {
        let changed = false;
        for (const {target} of changes) {
          const key = (target as HTMLElement).dataset["key"] ?? "";
          const height = target.getBoundingClientRect().height;
          if (height > 0 && Math.abs((heights.current.get(key) ?? 0) - height) > 0.5) {
            heights.current.set(key, height);
            changed = true;
          }
        }
        if (changed) setMeasured((count) => count + 1);
      }),
    [],
  );
  useEffect(() => () => observer.disconnect(), [observer]);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    if (sticky && atEnd.current) element.scrollTop = element.scrollHeight;
    setView((old) => {
      const next = {top: element.scrollTop, height: element.clientHeight};
      return old.top === next.top && old.height === next.height ? old : next;
    });
  });

  const onScroll = () => {
    const element = box.current;
    if (!element) return;
    atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 60;
    setView({top: element.scrollTop, height: element.clientHeight});
  };

  const first = indexAt(offsets, Math.max(0, view.top - OVERSCAN_PX));
  const last = Math.min(items.length, indexAt(offsets, view.top + view.height + OVERSCAN_PX) + 1);
  return (
    <div
      class="scroller"
      ref={box}
      onScroll={onScroll}
      tabIndex={0}
      role={role === "log" ? "log" : "region"}
      aria-label={label}
    >
      {props.header}
      <div class="virtual" style={{height: `${offsets[items.length]}px`}}>
        <div
          class="window"
          style={{transform: `translateY(${offsets[first]}px)`}}
          role={role === "list" ? "list" : undefined}
        >
          {items.slice(first, last).map((item, i) => (
            <Row key={keyOf(item)} id={keyOf(item)} observer={observer} isItem={role === "list"}>
              {render(item, first + i)}
            </Row>
          ))}
        </div>
      </div>
      {props.footer}
    </div>
  );
}

interface RowProps {
  id: string;
  observer: ResizeObserver;
  isItem: boolean;
  children: ComponentChildren;
}

function Row({id, observer, isItem, children}: RowProps) {
  const row = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = row.current;
    if (!element) return;
    observer.observe(element);
    return () => observer.unobserve(element);
  }, [observer]);
  return (
    <div class="row" ref={row} data-key={id} role={isItem ? "listitem" : undefined}>
      {children}
    </div>
  );
}
