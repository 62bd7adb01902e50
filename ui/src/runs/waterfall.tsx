import {duration, number} from "../base/format";
import {VirtualList} from "../widgets/virtual";
import type {Row} from "./steps";

interface Props {
  rows: Row[];
  slowest: Row | null;
  selected: string | null;
  onSelect: (id: string) => void;
}

function tokensOf({span}: Row): string {
  if (!span || span.input_tokens === null) return "";
  return `${number(span.input_tokens)} → ${number(span.output_tokens ?? 0)} tokens`;
}

export function Waterfall({rows, slowest, selected, onSelect}: Props) {
  const total = Math.max(rows[0]?.end ?? 0, 0.001);
  const percent = (ms: number) => `${(100 * ms) / total}%`;
  const render = (row: Row) => (
    <button
      type="button"
      class={`bar-row ${row.kind}${row.open ? " open" : ""}`}
      aria-pressed={row.id === selected}
      onClick={() => onSelect(row.id)}
    >
      <span class="name">{row.name}</span>
      <span class="track" aria-hidden="true">
        <span
          class="span"
          style={{marginInlineStart: percent(row.start), width: `max(2px, ${percent(row.end - row.start)})`}}
        />
      </span>
      <span class="figures">
        {row === slowest && <span class="tag warn">slowest</span>}
        <span class="tokens">{tokensOf(row)}</span>
        <span>{duration(row.end - row.start)}</span>
      </span>
    </button>
  );
  return <VirtualList items={rows} keyOf={(row) => row.id} estimate={36} label="Waterfall" render={render} />;
}
