// A chat-completions provider on Node's own HTTP/2.
//   node http2_provider.mjs CERTIFICATE KEY
// A message with the word "large" gets 1 MB of text, one with "open" the first word only, and all
// others 200 words, one in each event. Prints its port, then a line for each connection, request and
// stream that was reset.
import { readFileSync } from "node:fs";
import { createSecureServer } from "node:http2";

const [certificate, key] = process.argv.slice(2);
const server = createSecureServer({ cert: readFileSync(certificate), key: readFileSync(key) });

function event(delta, end) {
  const choice = { index: 0, delta, finish_reason: end };
  return `data: ${JSON.stringify({ object: "chat.completion.chunk", choices: [choice] })}\n\n`;
}

async function answer(stream, body) {
  stream.respond({ ":status": 200, "content-type": "text/event-stream" });
  const padding = body.includes("large") ? "x".repeat(5000) : "";
  for (let n = 0; n < 200 && !stream.destroyed; n++) {
    const wrote = stream.write(event({ content: `word${n}${padding} ` }, null));
    if (body.includes("open")) return;
    await new Promise((next) => (wrote ? setImmediate(next) : stream.once("drain", next)));
  }
  stream.end(event({}, "stop") + "data: [DONE]\n\n");
}

server.on("session", () => console.log("connection"));
server.on("stream", (stream) => {
  console.log("request");
  let body = "";
  stream.setEncoding("utf8");
  stream.on("data", (piece) => (body += piece));
  stream.on("end", () => answer(stream, body));
  stream.on("aborted", () => console.log("reset"));
  stream.on("error", () => {});
});
server.listen(0, "127.0.0.1", () => console.log(`port ${server.address().port}`));
