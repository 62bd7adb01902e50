// What users of the package `@modelcontextprotocol/sdk` do, whose newest revision is 2025-11-25. Usage:
// mcp_sdk_client.mjs SCENARIO URL KEY; prints the result as JSON.
import {Client} from '@modelcontextprotocol/sdk/client/index.js';
import {StreamableHTTPClientTransport} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {ElicitRequestSchema} from '@modelcontextprotocol/sdk/types.js';

const [names, url, key] = process.argv.slice(2);

function transport() {
  return new StreamableHTTPClientTransport(new URL(url), {
    requestInit: {headers: {Authorization: `Bearer ${key}`}},
    reconnectionOptions: {
      initialReconnectionDelay: 100, maxReconnectionDelay: 1000, reconnectionDelayGrowFactor: 1.5, maxRetries: 20,
    },
  });
}

async function connected(capabilities = {}) {
  const client = new Client({name: 'test', version: '1'}, {capabilities});
  await client.connect(transport());
  return client;
}

const call = (client, message, options) =>
  client.callTool({name: 'app', arguments: {message}}, undefined, options);

const scenarios = {
  async handshake() {
    const client = await connected();
    const {tools} = await client.listTools();
    await client.ping();
    return [client.getServerVersion().name, tools.map(tool => tool.name).sort()];
  },

  // The SDK checks the structured content against the tool's schema.
  async answer() {
    const client = await connected();
    await client.listTools();
    const first = await call(client, 'plain');
    const {thread_id} = first.structuredContent;
    const second = await client.callTool({name: 'app', arguments: {message: 'plain', thread_id}});
    return [first.content[0].text, second.structuredContent.thread_id === thread_id];
  },

  async progress() {
    const reports = [];
    const client = await connected();
    const result = await call(client, 'plain', {onprogress: report => reports.push(report.progress)});
    return [result.content[0].text, reports];
  },

  async resources() {
    const client = await connected();
    const {structuredContent} = await call(client, 'plain');
    const {resources} = await client.listResources();
    const uri = `agent-graph://threads/${structuredContent.thread_id}`;
    const {contents} = await client.readResource({uri});
    return [resources.some(resource => resource.uri === uri), JSON.parse(contents[0].text).messages.length];
  },

  async question() {
    const client = await connected({elicitation: {}});
    client.setRequestHandler(ElicitRequestSchema, ({params}) => ({
      action: 'accept', content: {name: params.message === 'Who are you?' ? 'Bob' : '?'},
    }));
    return (await call(client, 'register')).content[0].text;
  },

  async cancelled() {
    const client = await connected();
    const controller = new AbortController();
    const pending = call(client, 'slow', {signal: controller.signal});
    setTimeout(() => controller.abort('enough'), 300);
    return pending.then(() => 'a response', error => String(error.message ?? error));
  },

  async errors() {
    const client = await connected();
    const found = {};
    found.arguments = (await client.callTool({name: 'app', arguments: {}})).isError;
    found.tool = await client.callTool({name: 'none'}).catch(error => error.code);
    found.resource = await client.readResource({uri: 'agent-graph://threads/none'}).catch(error => error.code);
    return found;
  },

  async ended() {
    const client = await connected();
    await client.transport.terminateSession();
    return client.transport.sessionId ?? 'no session';
  },

  // The test kills the worker in the middle of the answer.
  async survives() {
    const client = await connected();
    const result = await call(client, 'long', {timeout: 60000});
    return [result.content[0].text, result.isError ?? false];
  },

  async foreign_thread() {
    const client = await connected();
    const result = await client.callTool({name: 'app', arguments: {message: 'plain', thread_id: 'alice'}});
    const {resources} = await client.listResources();
    return [result.isError, resources.length];
  },
};

const results = {};
for (const name of names.split(',')) results[name] = await scenarios[name]();
console.log(JSON.stringify(results));
process.exit(0);
