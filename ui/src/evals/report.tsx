import {type EvalCase, type EvalReport, readEvalReport, type Tile} from "../api/evals";
import {Panel, useLoad} from "../widgets/states";

function PassTag({status}: {status: string}) {
  return <span class={`tag ${status === "pass" ? "good" : "bad"}`}>{status}</span>;
}

function Tiles({tiles}: {tiles: Tile[]}) {
  return (
    <dl class="tiles">
      {tiles.map(({label, value}) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Case({one}: {one: EvalCase}) {
  return (
    <details class="tool">
      <summary>
        <PassTag status={one.status} />
        <b>{one.name}</b>
        <span class="grow" />
        <span class="detail">
          {one.score.toFixed(2)} · {one.lat} · {one.cost}
        </span>
      </summary>
      <p class="label">Input</p>
      <p class="plain">{one.input}</p>
      <p class="label">Answer</p>
      <p class="plain">{one.actual}</p>
      {one.rubric?.map(({key, value}) => (
        <p key={key} class="line">
          <span>{key}</span>
          <meter min={0} max={1} value={value} aria-label={key} />
          <span class="detail">{value.toFixed(2)}</span>
        </p>
      ))}
      {one.conversation?.map(({role, text}, i) => (
        <p key={i} class="plain">
          <b>{role}: </b>
          {text}
        </p>
      ))}
    </details>
  );
}

function Regression({regression}: {regression: NonNullable<EvalReport["regression"]>}) {
  return (
    <section class="details">
      <h2>
        {regression.note.current} compared with {regression.note.prev}
      </h2>
      <Tiles tiles={regression.summary} />
      <table>
        <thead>
          <tr>
            <th scope="col">Case</th>
            <th scope="col">Score</th>
            <th scope="col">Result</th>
          </tr>
        </thead>
        <tbody>
          {regression.rows.map(({name, delta, dir, flip, stay}) => (
            <tr key={name}>
              <td>{name}</td>
              <td class={dir}>{delta}</td>
              <td>{stay ? flip : <b>{flip}</b>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export function Report({id}: {id: string}) {
  const report = useLoad((signal) => readEvalReport(id, signal), [id]);
  return (
    <section class="pad" aria-label="Report">
      <Panel of={report}>
        {({title, sub, status, stats, cases, regression}) => (
          <div class="details">
            <h2 class="line">
              <PassTag status={status} /> {title}
            </h2>
            <p class="detail">{sub}</p>
            <Tiles tiles={stats} />
            {regression && <Regression regression={regression} />}
            <h2>Cases</h2>
            {cases.map((one) => (
              <Case key={one.id} one={one} />
            ))}
          </div>
        )}
      </Panel>
    </section>
  );
}
