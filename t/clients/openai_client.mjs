// What users of the package `openai` do. Usage: openai_client.mjs SCENARIO BASE_URL KEY; prints the
// result as JSON.
import OpenAI from 'openai';

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {type: 'object', properties: {city: {type: 'string'}}, required: ['city']},
  },
};
const user = text => ({role: 'user', content: text});

const scenarios = {
  async models(client) {
    const ids = [];
    for await (const model of client.models.list()) ids.push(model.id);
    return [...ids, (await client.models.retrieve('app')).id];
  },

  async answer(client) {
    const completion = await client.chat.completions.create({model: 'app', messages: [user('plain')]});
    const [choice] = completion.choices;
    return [choice.message.content, choice.finish_reason, completion.usage.total_tokens > 0];
  },

  async stream(client) {
    const events = await client.chat.completions.create({
      model: 'app', messages: [user('plain')], stream: true, stream_options: {include_usage: true},
    });
    let text = '';
    let usages = 0;
    for await (const chunk of events) {
      text += chunk.choices[0]?.delta.content ?? '';
      if (chunk.usage) ++usages;
    }
    return [text, usages];
  },

  // The helper that puts the chunks together is strict about their form.
  async accumulated_stream(client) {
    const events = client.chat.completions.stream({model: 'app', messages: [user('plain')]});
    const final = await events.finalChatCompletion();
    return [final.choices[0].message.content, final.choices[0].finish_reason];
  },

  // The helper executes the tool and sends its result.
  async tools(client) {
    const cities = [];
    const runner = client.chat.completions.runTools({
      model: 'app', messages: [user('weather')], stream: true,
      tools: [{
        type: 'function',
        function: {
          ...weather.function, parse: JSON.parse,
          function: ({city}) => { cities.push(city); return 'sunny'; },
        },
      }],
    });
    return [await runner.finalContent(), cities];
  },

  async aborted_stream(client) {
    const events = await client.chat.completions.create({model: 'app', messages: [user('plain')], stream: true});
    for await (const _ of events) break;
    return events.controller.signal.aborted;
  },

  async errors(client) {
    const found = {};
    const wrong = {
      n: {model: 'app', messages: [user('plain')], n: 2},
      role: {model: 'app', messages: [{role: 'robot', content: 'x'}]},
      model: {model: 'other', messages: [user('plain')]},
    };
    for (const [name, parameters] of Object.entries(wrong)) {
      try {
        await client.chat.completions.create(parameters);
      } catch (error) {
        found[name] = [error.constructor.name, error.status, error.param];
      }
    }
    return found;
  },

  async response(client) {
    const found = await client.responses.create({model: 'app', input: 'plain'});
    const again = await client.responses.retrieve(found.id);
    return [found.output_text, again.output_text, found.status];
  },

  // The helper that puts the events together is strict about their order.
  async response_helper(client) {
    const events = client.responses.stream({model: 'app', input: 'plain'});
    let text = '';
    for await (const event of events) if (event.type === 'response.output_text.delta') text += event.delta;
    return [text, (await events.finalResponse()).output_text];
  },

  async response_tools(client) {
    const tools = [{type: 'function', strict: false, ...weather.function}];
    const first = await client.responses.stream({model: 'app', input: 'weather', tools}).finalResponse();
    const [call] = first.output;
    const last = await client.responses.create({
      model: 'app', tools, previous_response_id: first.id,
      input: [{type: 'function_call_output', call_id: call.call_id, output: 'sunny'}],
    });
    return [call.type, JSON.parse(call.arguments), last.output_text];
  },

  // The connection is cut in the middle of the answer.
  async response_background(client) {
    const seen = [];
    const stream = await client.responses.create({model: 'app', input: 'plain', background: true, stream: true});
    for await (const event of stream) {
      seen.push(event);
      if (event.type === 'response.output_text.delta') break;
    }
    const id = seen[0].response.id;
    const after = seen.at(-1).sequence_number;
    const rest = await client.responses.retrieve(id, {stream: true, starting_after: after});
    for await (const event of rest) seen.push(event);
    const text = seen.map(event => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
    const helped = client.responses.stream({response_id: id, starting_after: after});
    const numbers = [];
    for await (const event of helped) numbers.push(event.sequence_number);
    return [
      seen.every((event, index) => event.sequence_number === index), text, numbers[0] === after + 1,
      (await helped.finalResponse()).output_text,
    ];
  },

  async response_cancelled(client) {
    const found = await client.responses.create({model: 'app', input: 'plain', background: true});
    const cancelled = await client.responses.cancel(found.id);
    await client.responses.delete(found.id);
    try {
      await client.responses.retrieve(found.id);
    } catch (error) {
      return [['cancelled', 'completed'].includes(cancelled.status), error.status, error.code];
    }
    return [];
  },

  async response_items(client) {
    const found = await client.responses.create({model: 'app', input: [user('plain'), user('plain')]});
    const texts = [];
    for await (const item of client.responses.inputItems.list(found.id, {limit: 1, order: 'asc'})) {
      texts.push(item.content[0].text);
    }
    return texts;
  },

  async conversation(client) {
    const made = await client.conversations.create();
    await client.conversations.items.create(made.id, {items: [user('one'), user('two')]});
    const {conversation} = await client.responses.create({model: 'app', input: 'plain', conversation: made.id});
    const texts = [];
    for await (const item of client.conversations.items.list(made.id, {limit: 1, order: 'asc'})) {
      texts.push(item.content[0].text);
    }
    const newest = (await client.conversations.items.list(made.id, {limit: 1})).data[0];
    await client.conversations.items.delete(newest.id, {conversation_id: made.id});
    const changed = await client.conversations.update(made.id, {metadata: {topic: 'sun'}});
    const deleted = await client.conversations.delete(made.id);
    const {status} = await client.conversations.retrieve(made.id).catch(error => error);
    return [conversation.id === made.id, texts, newest.content[0].text, changed.metadata, deleted.deleted, status];
  },
};

const [names, baseURL, apiKey] = process.argv.slice(2);
const client = new OpenAI({baseURL, apiKey, maxRetries: 0});
const results = {};
for (const name of names.split(',')) results[name] = await scenarios[name](client);
console.log(JSON.stringify(results));
