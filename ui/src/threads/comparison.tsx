import {useState} from "preact/hooks";
import {fieldsOf, type Snapshot, snapshotsOf} from "../api/snapshots";
import type {State} from "../api/threads";
import {moment} from "../base/format";
import {changes} from "./diff";
import {DiffView} from "./diff_view";

function titleOf({runId, at}: Snapshot): string {
  return `${moment(at / 1000)} · run ${runId.slice(0, 8)}`;
}

// Compares the states after two runs that this page has seen, or one with the present state.
export function Comparison({threadId, state}: {threadId: string; state: State}) {
  const now: Snapshot = {runId: "now", at: Date.now(), fields: fieldsOf(state)};
  const all = [...snapshotsOf(threadId), now];
  const [from, setFrom] = useState(Math.max(0, all.length - 2));
  const [to, setTo] = useState(all.length - 1);
  const [older, newer] = [all[from] ?? now, all[to] ?? now];
  if (all.length < 2) {
    return (
      <p class="detail">
        The service keeps the latest state only. Runs that you watch in Chat can be compared here.
      </p>
    );
  }
  const choice = (label: string, value: number, set: (index: number) => void) => (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => set(Number(event.currentTarget.value))}>
        {all.map((one, i) => (
          <option key={one.runId} value={i}>
            {one === now ? "now" : titleOf(one)}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <div class="details">
      <div class="pair">
        {choice("After", from, setFrom)}
        {choice("Compared with", to, setTo)}
      </div>
      <DiffView changes={changes(older.fields, newer.fields)} />
    </div>
  );
}
