import {pretty} from "../base/format";
import type {Change} from "./diff";

export function DiffView({changes}: {changes: Change[]}) {
  if (changes.length === 0) return <p class="detail">No differences</p>;
  return (
    <dl class="diff">
      {changes.map(({path, before, after}) => (
        <div key={path}>
          <dt>{path}</dt>
          {before !== undefined && (
            <dd class="before">
              <span class="sign">before</span>
              <code>{pretty(before)}</code>
            </dd>
          )}
          {after !== undefined && (
            <dd class="after">
              <span class="sign">after</span>
              <code>{pretty(after)}</code>
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}
