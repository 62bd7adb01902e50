// What programs do that start their MCP servers themselves, such as desktop assistants: they reach the service
// through the bridge `mcp-remote`. Usage: mcp_bridge_client.mjs SCENARIO URL KEY; prints the result as JSON.
import {fileURLToPath} from 'node:url';
import {Client} from '@modelcontextprotocol/sdk/client/index.js';
import {StdioClientTransport} from '@modelcontextprotocol/sdk/client/stdio.js';
import {ElicitRequestSchema} from '@modelcontextprotocol/sdk/types.js';

const [names, url, key] = process.argv.slice(2);
const bridge = fileURLToPath(new URL('node_modules/mcp-remote/dist/proxy.js', import.meta.url));

const client = new Client({name: 'test', version: '1'}, {capabilities: {elicitation: {}}});
client.setRequestHandler(ElicitRequestSchema, ({params}) => ({
  action: 'accept', content: {name: params.message === 'Who are you?' ? 'Bob' : '?'},
}));
await client.connect(new StdioClientTransport({
  command: process.execPath,
  args: [bridge, url, '--allow-http', '--header', `Authorization: Bearer ${key}`],
  env: process.env,
  stderr: 'ignore',
}));

const call = message => client.callTool({name: 'app', arguments: {message}});

const scenarios = {
  async handshake() {
    const {tools} = await client.listTools();
    return [client.getServerVersion().name, tools.map(tool => tool.name).sort()];
  },

  async answer() {
    const {content, structuredContent} = await call('plain');
    const again = {name: 'app', arguments: {message: 'plain', thread_id: structuredContent.thread_id}};
    const {structuredContent: second} = await client.callTool(again);
    return [content[0].text, second.thread_id === structuredContent.thread_id];
  },

  async question() {
    return (await call('register')).content[0].text;
  },
};

const results = {};
for (const name of names.split(',')) results[name] = await scenarios[name]();
await client.close();
console.log(JSON.stringify(results));
process.exit(0);
