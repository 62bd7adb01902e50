import {useEffect, useMemo, useState} from "preact/hooks";
import {readGraph} from "../api/graph";
import {duration} from "../base/format";
import {randomId} from "../base/random";
import {useStore} from "../base/store";
import {Button} from "../widgets/button";
import {Empty, Panel, useLoad} from "../widgets/states";
import {VirtualList} from "../widgets/virtual";
import {type Line, LiveSession} from "./session";

function LineView({line}: {line: Line}) {
  if (line.who === "note") return <p class="detail live-note">{line.text}</p>;
  return (
    <article class={`message ${line.who === "you" ? "user" : "assistant"}`} aria-label={line.who}>
      <div class="content">
        <p class="plain">{line.text.trim()}</p>
      </div>
    </article>
  );
}

function Bar({session}: {session: LiveSession}) {
  const {hears, level, latency, phase} = useStore(session.state);
  const [text, setText] = useState("");
  const open = phase === "open";
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim() && open) session.say(text.trim());
    setText("");
  };
  return (
    <form class="composer" onSubmit={submit}>
      <div class="line">
        <meter min={0} max={1} value={level} aria-label="Microphone" />
        <span class="detail">{latency !== null && `answered after ${duration(latency)}`}</span>
        <span class="grow" />
        <Button
          icon="live"
          label={hears ? "Mute" : "Microphone"}
          pressed={hears}
          disabled={!open}
          onClick={() => (hears ? session.mute() : void session.listen())}
        />
        <Button icon="stop" label="Hang up" disabled={!open} onClick={() => session.stop()} />
      </div>
      <div class="line">
        <input
          aria-label="Say it in writing"
          placeholder="Say it in writing"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          disabled={!open}
        />
        <Button
          icon="send"
          label="Send"
          hideLabel
          kind="main"
          type="submit"
          disabled={!open || !text.trim()}
        />
      </div>
    </form>
  );
}

function Call() {
  const session = useMemo(() => new LiveSession(), []);
  const {phase, lines, error} = useStore(session.state);
  useEffect(() => () => session.stop(), [session]);
  const keyed = lines.map((line, i) => ({line, key: String(i)}));
  return (
    <section class="talk" aria-label="Call">
      {error && (
        <p class="note error" role="alert">
          {error}
        </p>
      )}
      {lines.length === 0 ? (
        <Empty title={phase === "open" ? "Speak or write" : "Talk to your agent"}>
          <p>The microphone is off until you switch it on.</p>
          {phase !== "open" && (
            <Button
              label={phase === "closed" ? "Call again" : "Start the call"}
              kind="main"
              disabled={phase === "connecting" || phase === "closing"}
              onClick={() => session.start(randomId())}
            />
          )}
        </Empty>
      ) : (
        <VirtualList
          items={keyed}
          keyOf={({key}) => key}
          estimate={60}
          label="Transcript"
          role="log"
          sticky
          render={({line}) => <LineView line={line} />}
        />
      )}
      {phase === "closed" && lines.length > 0 && (
        <Button label="Call again" onClick={() => session.start(randomId())} />
      )}
      <Bar session={session} />
    </section>
  );
}

export function Page() {
  const graph = useLoad(readGraph, []);
  return (
    <div class="page">
      <header class="top">
        <h1>Live</h1>
      </header>
      <Panel of={graph}>
        {({info}) =>
          info.is_realtime ? (
            <Call />
          ) : (
            <Empty title="This agent does not speak">
              <p>
                The graph does not start at a live agent. The sample does:{" "}
                <code>AGENT=graphs/live.json:app make run</code>
              </p>
            </Empty>
          )
        }
      </Panel>
    </div>
  );
}
