// A chat-completions provider on Node's own HTTP/2, and on its HTTP/1.1 for clients that do not ask
// for HTTP/2.
//   node http2_provider.mjs CERTIFICATE KEY
// A message with the word "large" gets 1 MB of text, one with "open" the first word only, and all
// others 200 words, one in each event. Prints its port, then a line for each connection, request and
// stream that was reset.
import { readFileSync } from "node:fs";
import { createSecureServer } from "node:http2";

const [certificate, key] = process.argv.slice(2);
const server = createSecureServer({
  cert: readFileSync(certificate),
  key: readFileSync(key),
  allowHTTP1: true,
});

function event(delta, end) {
  const choice = { index: 0, delta, finish_reason: end };
  return `data: ${JSON.stringify({ object: "chat.completion.chunk", choices: [choice] })}\n\n`;
}

async function answer(response, body) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const padding = body.includes("large") ? "x".repeat(5000) : "";
  for (let n = 0; n < 200 && !response.isLeft; n++) {
    const wrote = response.write(event({ content: `word${n}${padding} ` }, null));
    if (body.includes("open")) return;
    await new Promise((next) => (wrote ? setImmediate(next) : response.once("drain", next)));
  }
  response.end(event({}, "stop") + "data: [DONE]\n\n");
}

server.on("secureConnection", () => console.log("connection"));
server.on("request", (request, response) => {
  console.log("request");
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (piece) => (body += piece));
  request.on("end", () => answer(response, body));
  request.on("error", () => {});
  response.on("close", () => {
    if (response.writableEnded) return;
    response.isLeft = true;
    console.log("reset");
  });
});
server.listen(0, "127.0.0.1", () => console.log(`port ${server.address().port}`));
