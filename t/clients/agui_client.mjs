// What users of the package `@ag-ui/client` do, with its version 1.0.0 and with 0.0.59, which other
// packages contain. Usage: agui_client.mjs SCENARIO BASE_URL KEY; prints the results as JSON.
import * as current from '@ag-ui/client';
import * as earlier from 'ag-ui-client-0-0-59';

const weather = {
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: {type: 'object', properties: {city: {type: 'string'}}, required: ['city']},
};
const user = content => ({id: crypto.randomUUID(), role: 'user', content});

// Runs the agent and returns the types of the events, the outcome, the error and the text.
async function run(agent, parameters = {}, more = {}) {
  const seen = {types: []};
  const subscriber = {
    onEvent({event}) { seen.types.push(event.type); },
    onRunFinishedEvent({event}) { seen.outcome = event.outcome; },
    onRunErrorEvent({event}) { seen.error = event.code; },
    ...more,
  };
  try {
    await agent.runAgent(parameters, subscriber);
  } catch (error) {
    seen.thrown = {message: String(error.message), status: error.status};
  }
  return seen;
}

const textOf = agent => agent.messages.at(-1).content;

const scenarios = {
  async chat(connect) {
    const agent = connect();
    const texts = [];
    for (const text of ['plain', 'plain again']) {
      agent.addMessage(user(text));
      const {thrown} = await run(agent);
      if (thrown) return thrown;
      texts.push(textOf(agent));
    }
    return [texts, agent.messages.map(message => message.role)];
  },

  async streaming(connect) {
    const agent = connect();
    const buffers = [];
    agent.addMessage(user('plain'));
    const {types} = await run(agent, {}, {
      onTextMessageContentEvent({textMessageBuffer, event}) { buffers.push(event.delta); },
    });
    return [buffers.length > 1, buffers.join(''), types[0], types.at(-1)];
  },

  async reasoning(connect) {
    const agent = connect();
    agent.addMessage(user('think'));
    const {thrown} = await run(agent);
    if (thrown) return thrown;
    return agent.messages.slice(1).map(({role, content}) => [role, content]);
  },

  // A tool of the page: its call ends the run, and the next run has its result.
  async tools(connect) {
    const agent = connect();
    agent.addMessage(user('weather'));
    const first = await run(agent, {tools: [weather]});
    if (first.thrown) return first.thrown;
    const [call] = agent.messages.at(-1).toolCalls;
    agent.addMessage({id: crypto.randomUUID(), role: 'tool', toolCallId: call.id, content: 'rain'});
    const second = await run(agent, {tools: [weather]});
    return [call.function.name, JSON.parse(call.function.arguments), textOf(agent), second.thrown ?? null,
      agent.messages.map(message => message.role)];
  },

  async server_tools(connect) {
    const agent = connect();
    agent.addMessage(user('sum'));
    const {thrown} = await run(agent);
    if (thrown) return thrown;
    return agent.messages.map(message => message.role);
  },

  // A run that asks first; the agent refuses to go on without an answer.
  async interrupt(connect) {
    const agent = connect();
    agent.addMessage(user('call calculator {"expression": "6*7"}'));
    const {outcome, thrown} = await run(agent);
    if (thrown) return thrown;
    const [interrupt] = outcome.interrupts;
    const unanswered = await run(agent);
    const resume = [{interruptId: interrupt.id, status: 'resolved', payload: {approved: true}}];
    const resumed = await run(agent, {resume});
    return [outcome.type, interrupt.reason, unanswered.thrown !== undefined, resumed.thrown ?? null,
      agent.messages.map(message => message.role), agent.messages.some(({content}) => content === '42')];
  },

  async state(connect) {
    const agent = connect({initialState: {title: 'May'}});
    const states = [];
    agent.addMessage(user('go'));
    const {types, thrown} = await run(agent, {}, {onStateChanged({state}) { states.push({...state}); }});
    if (thrown) return thrown;
    agent.addMessage(user('again'));
    const second = await run(agent);
    return [agent.state, types.includes('STATE_SNAPSHOT'), second.types.includes('STATE_DELTA')];
  },

  async errors(connect) {
    const agent = connect();
    agent.addMessage(user('fail'));
    const failed = await run(agent);
    const other = connect({threadId: 'a/../b'});
    other.addMessage(user('plain'));
    const refused = await run(other);
    return [failed.error !== undefined || failed.thrown !== undefined, failed.types.at(-1),
      refused.thrown.message.includes('threadId')];
  },

  // The client closes the connection after the first piece.
  async abort(connect) {
    const agent = connect();
    agent.addMessage(user('gated'));
    const seen = await run(agent, {}, {onTextMessageContentEvent() { agent.abortRun(); }});
    return seen.types.includes('TEXT_MESSAGE_CONTENT') && !seen.types.includes('RUN_FINISHED');
  },

  // The connection is cut, and another client with the same messages joins the run.
  async cut(connect) {
    const threadId = crypto.randomUUID();
    const forwardedProps = {config: {on_disconnect: 'continue'}};
    const first = connect({threadId});
    const question = user('gated');
    first.addMessage(question);
    await run(first, {forwardedProps}, {onTextMessageContentEvent() { first.abortRun(); }});
    return [threadId, question.id, first.messages.length];
  },

  async join(connect, name) {
    const [threadId, id] = name.split(' ');
    const agent = connect({threadId, initialMessages: [
      {id, role: 'user', content: 'gated'}, {id: 'part', role: 'assistant', content: 'one '}]});
    console.error('joined');
    const {types, thrown} = await run(agent);
    return [thrown ?? null, agent.messages.map(({role, content}) => [role, content]), types.at(-1)];
  },

  async read(connect, threadId) {
    const agent = connect({threadId});
    const {thrown} = await run(agent);
    return thrown ?? agent.messages.map(({role, content}) => [role, content]);
  },
};

const [names, baseUrl, key] = process.argv.slice(2);
const results = {};
for (const [version, {HttpAgent}] of Object.entries({current, earlier})) {
  const connect = (config = {}) => new HttpAgent({
    url: `${baseUrl}/agui`, headers: {Authorization: `Bearer ${key}`}, ...config,
  });
  for (const name of names.split(',')) {
    const [scenario, ...rest] = name.split('=');
    results[`${version} ${scenario}`] = await scenarios[scenario](connect, rest.join('='));
  }
}
console.log(JSON.stringify(results));
