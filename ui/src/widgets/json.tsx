import {pretty} from "../base/format";

export function JsonView({value, label}: {value: unknown; label: string}) {
  return (
    <pre class="json" tabIndex={0} aria-label={label} role="region">
      {pretty(value)}
    </pre>
  );
}
