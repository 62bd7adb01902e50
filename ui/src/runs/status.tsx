const KINDS: Record<string, string> = {
  done: "good",
  error: "bad",
  interrupted: "warn",
  running: "live",
  queued: "live",
};

export function StatusTag({status}: {status: string}) {
  return <span class={`tag ${KINDS[status] ?? ""}`}>{status}</span>;
}
