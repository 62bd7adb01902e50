import {listEvalRuns} from "../api/evals";
import {href} from "../base/route";
import type {PageProps} from "../pages";
import {Empty, Panel, useLoad} from "../widgets/states";
import {Report} from "./report";

export function Page({ids}: PageProps) {
  const runs = useLoad(listEvalRuns, []);
  const current = ids[0] ?? runs.value?.[0]?.id;
  return (
    <div class="page">
      <header class="top">
        <h1>Evals</h1>
      </header>
      <Panel of={runs}>
        {(found) =>
          found.length === 0 ? (
            <Empty title="No reports yet">
              <p>
                The service shows the reports in the folder <code>evaluation.output_dir</code>.
              </p>
            </Empty>
          ) : (
            <div class="master">
              <nav class="column" aria-label="Reports">
                <ul class="links">
                  {found.map(({id, name, run, rate, status, ago}) => (
                    <li key={id}>
                      <a href={href("evals", id)} aria-current={id === current ? "true" : undefined}>
                        <span class="line">
                          <span class={`tag ${status === "pass" ? "good" : "bad"}`}>{rate}%</span>
                          <span class="name">
                            {name} {run}
                          </span>
                        </span>
                        <time>{ago}</time>
                      </a>
                    </li>
                  ))}
                </ul>
              </nav>
              {current && <Report key={current} id={current} />}
            </div>
          )
        }
      </Panel>
    </div>
  );
}
