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
  footer?: ComponentChildren;
}

const OVERSCAN_PX = 600;
const END_PX = 60; // this near to the end counts as being there

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

// The offset of each item, and the observer that measures the rows.
function useOffsets<T>({items, keyOf, estimate}: Props<T>) {
  const heights = useRef(new Map<string, number>());
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
          if (height <= 0 || Math.abs((heights.current.get(key) ?? 0) - height) <= 0.5) continue;
          heights.current.set(key, height);
          changed = true;
        }
        if (changed) setMeasured((count) => count + 1);
      }),
    [],
  );
  useEffect(() => () => observer.disconnect(), [observer]);
  return {offsets, observer};
}

// The visible part of the box. The text in it does not move when rows above turn out to be higher or lower than
// estimated. A box that shows its end keeps showing it if it is sticky, or if the key End was pressed.
function useView(sticky: boolean, offsets: Float64Array) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(sticky);
  const before = useRef(offsets);
  const lastTop = useRef(0);
  const [view, setView] = useState({top: 0, height: 800});
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const shown = indexAt(before.current, element.scrollTop);
    const moved = (offsets[shown] ?? 0) - (before.current[shown] ?? 0);
    before.current = offsets;
    // A scroll of the user that was not reported yet.
    const rest = element.scrollHeight - element.scrollTop - element.clientHeight;
    if (element.scrollTop < lastTop.current && rest > END_PX) atEnd.current = false;
    if (atEnd.current) element.scrollTop = element.scrollHeight;
    else if (moved !== 0) element.scrollTop += moved;
    lastTop.current = element.scrollTop;
    const next = {top: element.scrollTop, height: element.clientHeight};
    setView((old) => (old.top === next.top && old.height === next.height ? old : next));
  });
  // Elements behind the rows grow by themselves.
  const footer = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const grown = new ResizeObserver(() => {
      const element = box.current;
      if (element && atEnd.current) element.scrollTop = element.scrollHeight;
    });
    if (footer.current) grown.observe(footer.current);
    return () => grown.disconnect();
  }, []);
  const onScroll = () => {
    const element = box.current;
    if (!element) return;
    const isEnd = element.scrollHeight - element.scrollTop - element.clientHeight < END_PX;
    lastTop.current = element.scrollTop;
    atEnd.current = isEnd && (sticky || atEnd.current);
    setView({top: element.scrollTop, height: element.clientHeight});
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const element = box.current;
    if (event.target !== element || !element || !["Home", "End"].includes(event.key)) return;
    event.preventDefault();
    atEnd.current = event.key === "End";
    element.scrollTop = atEnd.current ? element.scrollHeight : 0;
    lastTop.current = element.scrollTop;
  };
  return {box, footer, view, onScroll, onKeyDown};
}

export function VirtualList<T>(props: Props<T>) {
  const {items, keyOf, render, label, role = "list", sticky = false} = props;
  const {offsets, observer} = useOffsets(props);
  const {box, footer, view, onScroll, onKeyDown} = useView(sticky, offsets);
  const first = indexAt(offsets, Math.max(0, view.top - OVERSCAN_PX));
  const last = Math.min(items.length, indexAt(offsets, view.top + view.height + OVERSCAN_PX) + 1);
  const isList = role === "list";
  return (
    <div
      class="scroller"
      ref={box}
      onScroll={onScroll}
      onKeyDown={onKeyDown}
      tabIndex={0}
      role={isList ? "region" : "log"}
      aria-label={label}
    >
      <div class="virtual" style={{height: `${offsets[items.length]}px`}}>
        <div
          class="window"
          style={{transform: `translateY(${offsets[first]}px)`}}
          role={isList ? "list" : undefined}
        >
          {items.slice(first, last).map((item, i) => (
            <Row key={keyOf(item)} id={keyOf(item)} observer={observer} isItem={isList}>
              {render(item, first + i)}
            </Row>
          ))}
        </div>
      </div>
      <div ref={footer}>{props.footer}</div>
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
