// The lines of a run as the service sends them.
import {useEffect, useState} from "preact/hooks";
import type {Chunk} from "../api/messages";
import {followRun} from "../api/runs";
import {duration} from "../base/format";
import {JsonView} from "../widgets/json";
import {Empty, Loading} from "../widgets/states";
import {VirtualList} from "../widgets/virtual";

export interface Line {
  id: string;
  chunk: Chunk;
}

// Reads the run's stream; while the run goes on, lines are added as they arrive.
export function useLines(threadId: string, runId: string): {lines: Line[]; error: unknown; reading: boolean} {
  const [state, setState] = useState<{lines: Line[]; error: unknown; reading: boolean}>({
    lines: [],
    error: null,
    reading: true,
  });
  useEffect(() => {
    const leaving = new AbortController();
    const found: Line[] = [];
    const read = async () => {
      for await (const chunk of followRun(threadId, runId, leaving.signal)) {
        // Pieces come again in the whole message.
        if (chunk.message?.delta) continue;
        found.push({id: String(found.length), chunk});
        setState({lines: [...found], error: null, reading: true});
      }
    };
    setState({lines: [], error: null, reading: true});
    read().then(
      () => setState({lines: found, error: null, reading: false}),
      (error) => !leaving.signal.aborted && setState({lines: found, error, reading: false}),
    );
    return () => leaving.abort();
  }, [threadId, runId]);
  return state;
}

function titleOf({event, message, data}: Chunk): string {
  if (!message) return [event, data?.status, data?.outcome].filter(Boolean).join(" ");
  const kinds = [...new Set(message.content.map(({type}) => type))].join(", ");
  return `${message.role}: ${kinds}`;
}

export function Events({lines, reading, startedAt}: {lines: Line[]; reading: boolean; startedAt: number}) {
  if (lines.length === 0) return reading ? <Loading /> : <Empty title="No events" />;
  const render = ({chunk}: Line) => (
    <details class="event">
      <summary>
        <span class="at">{duration((chunk.timestamp - startedAt) * 1000)}</span>
        <span class="tag">{chunk.metadata?.node ?? chunk.event}</span>
        <span>{titleOf(chunk)}</span>
      </summary>
      <JsonView value={chunk} label="Event" />
    </details>
  );
  return <VirtualList items={lines} keyOf={({id}) => id} estimate={34} label="Events" render={render} />;
}
