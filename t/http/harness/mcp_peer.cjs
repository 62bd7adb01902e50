// An MCP server built with the protocol's own SDK, for both eras (stateless and with sessions):
//   node mcp_peer.cjs '{"eras": ["stateless", "session"], "events": true, "issuer": "http://…"}'
// `events`: streams of sessions have event ids and can be resumed. `issuer`: it wants tokens of that
// authorization server, which it asks about each of them (RFC 7662). `asksBeside`: in a session it
// asks the user on the session's own stream. `values`: it has a tool that lists so many. `page`: it has
// a tool that asks the user to visit that address. It prints its port. `stdio`: it speaks over standard input and output instead.
'use strict';

const { randomUUID } = require('node:crypto');
const http = require('node:http');
const { Readable } = require('node:stream');

const sdk = require('@modelcontextprotocol/server');
const z = require('zod/v4');

const options = JSON.parse(process.argv[2]);
const eras = options.eras ?? ['stateless', 'session'];
const text = value => ({ content: [{ type: 'text', text: value }] });

const FORM = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 2 },
    plan: { type: 'string', enum: ['free', 'pro'], default: 'free' },
  },
  required: ['name'],
};
const registered = answer =>
  text(answer.action === 'accept' ? `registered ${JSON.stringify(answer.content)}` : answer.action);

// Asks the user for a form. In a session the SDK sends the question on the stream of the call.
async function register(era, ctx) {
  const question = { mode: 'form', message: 'Who are you?', requestedSchema: FORM };
  if (era === 'session' && options.asksBeside) {
    return registered(await ctx.mcpReq.elicitInput(question));
  }
  const answer = ctx.mcpReq.inputResponses?.who;
  if (answer) return registered(answer);
  return sdk.inputRequired({
    inputRequests: { who: sdk.inputRequired.elicit(question) },
    requestState: 'state of the server',
  });
}

// Asks the user to visit a page.
async function visit(ctx) {
  const answer = ctx.mcpReq.inputResponses?.page;
  if (answer) return text(`the page: ${answer.action}`);
  const question = { message: 'Sign in, please.', url: options.page };
  return sdk.inputRequired({ inputRequests: { page: sdk.inputRequired.elicitUrl(question) } });
}

let grown = false;
let notifyChanged = () => {};

function buildServer({ era }) {
  const server = new sdk.McpServer(
    { name: 'peer', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } } }
  );
  server.registerTool(
    'greet',
    { description: 'Greets.', inputSchema: z.object({ name: z.string() }) },
    async ({ name }) => text(`hello ${name}, in the era ${era}`)
  );
  server.registerTool(
    'route',
    {
      description: 'Wants its region in a header.',
      inputSchema: z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }) }),
    },
    async ({ region }) => text(`routed to ${region}`)
  );
  let has = false;
  const addGrown = () => {
    if (!has) server.registerTool('grown', { description: 'New.' }, async () => text('new'));
    has = true;
  };
  if (grown) addGrown();
  server.registerTool('grow', { description: 'Adds a tool.' }, async () => {
    grown = true;
    // In a session the server itself announces changed tools; without one, the handler of
    // subscriptions does.
    if (era === 'session') {
      addGrown();
      server.sendToolListChanged();
    } else {
      setImmediate(notifyChanged);
    }
    return text('grown');
  });
  server.registerTool('register', { description: 'Asks who it is.' }, ctx => register(era, ctx));
  server.registerTool(
    'look_up',
    { description: 'Asks, and changes nothing.', annotations: { readOnlyHint: true } },
    ctx => register(era, ctx)
  );
  if (options.page) server.registerTool('visit', { description: 'Asks for a visit.' }, visit);
  server.registerTool('ponder', { description: 'Asks, and never ends.' }, async ctx => {
    const answer = await register(era, ctx);
    if (!answer.content) return answer; // the question
    console.log('pondering');
    return new Promise(() => {});
  });
  // Ends the stream of the call in the middle, as a server does that does not want to hold it.
  server.registerTool('poll', { description: 'Answers later.' }, async ctx => {
    ctx.http?.closeSSE?.();
    await new Promise(resolve => setTimeout(resolve, 50));
    return text('polled');
  });
  if (options.values) {
    const structuredContent = { values: Array.from({ length: options.values }, () => ({ a: '' })) };
    server.registerTool('list', { description: 'Lists much.' }, async () => ({
      content: [{ type: 'text', text: 'a list' }],
      structuredContent,
    }));
  }
  return server;
}

class Events {
  constructor() {
    this.events = [];
  }
  async storeEvent(streamId, message) {
    this.events.push({ streamId, message });
    return String(this.events.length);
  }
  async getStreamIdForEventId(id) {
    return this.events[Number(id) - 1]?.streamId;
  }
  async replayEventsAfter(id, { send }) {
    const streamId = this.events[Number(id) - 1].streamId;
    for (const [index, event] of this.events.entries()) {
      if (index < Number(id) || event.streamId !== streamId) continue;
      if (event.message && Object.keys(event.message).length) await send(String(index + 1), event.message);
    }
    return streamId;
  }
}

const sessions = new Map();

async function serveSession(request) {
  const id = request.headers.get('mcp-session-id');
  if (id) {
    return sessions.get(id)?.handleRequest(request) ?? new Response(null, { status: 404 });
  }
  const body = await request.clone().json().catch(() => undefined);
  if (body?.method !== 'initialize') return new Response('no session', { status: 400 });
  const transport = new sdk.WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: created => sessions.set(created, transport),
    ...(options.events ? { eventStore: new Events(), retryInterval: 20 } : {}),
  });
  await buildServer({ era: 'session' }).connect(transport);
  return transport.handleRequest(request);
}

function makeHandler() {
  const stateless = sdk.createMcpHandler(() => buildServer({ era: 'stateless' }), { legacy: 'reject' });
  notifyChanged = () => stateless.notify.toolsChanged();
  return async request => {
    const isOld = await sdk.isLegacyRequest(request.clone());
    if (isOld && eras.includes('session')) return serveSession(request);
    if (!isOld && !eras.includes('stateless')) return serveSession(request);
    return stateless.fetch(request);
  };
}

// Returns the refusal of a request without a valid token; undefined if the token is valid.
async function refuse(request) {
  const { origin, pathname } = new URL(request.url);
  const metadata = '/.well-known/oauth-protected-resource/mcp';
  if (pathname === metadata) {
    return Response.json({ resource: `${origin}/mcp`, authorization_servers: [options.issuer] });
  }
  const [, token] = /^Bearer (\S+)$/.exec(request.headers.get('authorization') ?? '') ?? [];
  const body = new URLSearchParams({ token: token ?? '' });
  const known = await fetch(`${options.issuer}/introspect`, { method: 'POST', body });
  if ((await known.json()).active) return undefined;
  const challenge = `Bearer error="invalid_token", resource_metadata="${origin}${metadata}"`;
  return new Response(null, { status: 401, headers: { 'WWW-Authenticate': challenge } });
}

async function answer(handler, incoming, outgoing) {
  const hasBody = incoming.method === 'POST';
  const aborter = new AbortController();
  outgoing.on('close', () => aborter.abort());
  const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
    method: incoming.method,
    headers: incoming.headers,
    ...(hasBody ? { body: Readable.toWeb(incoming), duplex: 'half' } : {}),
    signal: aborter.signal,
  });
  const refusal = options.issuer ? await refuse(request) : undefined;
  const response = refusal ?? (await handler(request));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  if (!response.body) return outgoing.end();
  const body = Readable.fromWeb(response.body).on('error', () => outgoing.destroy());
  outgoing.on('close', () => body.destroy());
  body.pipe(outgoing);
}

if (options.stdio) {
  const { serveStdio } = require('@modelcontextprotocol/server/stdio');
  void serveStdio(({ era }) => buildServer({ era: era === 'modern' ? 'stateless' : 'session' }));
} else {
  const handler = makeHandler();
  const server = http.createServer((incoming, outgoing) => {
    console.log(`${incoming.method} ${JSON.stringify(incoming.headers)}`);
    answer(handler, incoming, outgoing).catch(failure => {
      console.log(failure.stack);
      outgoing.destroy();
    });
  });
  server.listen(options.port ?? 0, '127.0.0.1', () => {
    console.log(`listening on port ${server.address().port}`);
  });
}
