// What users of the package `@modelcontextprotocol/client` do, which speaks revision 2026-07-28. Usage:
// mcp_client.mjs SCENARIO URL KEY; prints the result as JSON.
import {Client, StreamableHTTPClientTransport} from '@modelcontextprotocol/client';

const [names, url, key] = process.argv.slice(2);

async function connected(capabilities = {}, mode = 'auto') {
  const client = new Client({name: 'test', version: '1'}, {capabilities, versionNegotiation: {mode}});
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), {requestInit: {headers: {Authorization: `Bearer ${key}`}}}),
  );
  return client;
}

const call = (client, message, options) =>
  client.callTool({name: 'app', arguments: {message}}, options);

const scenarios = {
  async handshake() {
    const found = {};
    for (const mode of ['auto', 'legacy', {pin: '2026-07-28'}]) {
      const client = await connected({}, mode);
      const {tools} = await client.listTools();
      found[mode.pin ?? mode] = [client.getNegotiatedProtocolVersion(), tools.map(tool => tool.name).sort()];
    }
    return found;
  },

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
    const client = await connected({elicitation: {form: {}}});
    client.setRequestHandler('elicitation/create', () => ({action: 'accept', content: {name: 'Bob'}}));
    return (await call(client, 'register')).content[0].text;
  },

  async errors() {
    const client = await connected();
    const found = {};
    found.arguments = (await client.callTool({name: 'app', arguments: {}})).isError;
    found.tool = await client.callTool({name: 'none', arguments: {}}).catch(error => error.code);
    found.resource = await client.readResource({uri: 'agent-graph://threads/none'}).catch(error => error.code);
    return found;
  },

  async refused() {
    return connected().then(() => 'connected', error => error.constructor.name);
  },
};

const results = {};
for (const name of names.split(',')) results[name] = await scenarios[name]();
console.log(JSON.stringify(results));
process.exit(0);
