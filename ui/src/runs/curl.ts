// Commands that read a run again.
import {path} from "../api/request";
import {root} from "../api/root";
import {session} from "../api/session";

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

// The command names the variable TOKEN instead of containing the token, because people keep commands in
// shell histories and send them in chats.
export function curlOf(threadId: string, runId: string): string {
  const lines = [`curl -sN ${quoted(root + path`/v1/threads/${threadId}/runs/${runId}/stream`)}`];
  lines.push("-H 'Accept: application/x-ndjson'");
  if (session.get().token) lines.push('-H "Authorization: Bearer $TOKEN"');
  return lines.join(" \\\n  ");
}
