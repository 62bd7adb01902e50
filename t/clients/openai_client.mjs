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
};

const [names, baseURL, apiKey] = process.argv.slice(2);
const client = new OpenAI({baseURL, apiKey, maxRetries: 0});
const results = {};
for (const name of names.split(',')) results[name] = await scenarios[name](client);
console.log(JSON.stringify(results));
