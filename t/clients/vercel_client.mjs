// What users of the Vercel AI SDK do, with its providers for such servers, of which one speaks Responses. Usage:
// vercel_client.mjs SCENARIO BASE_URL KEY; prints the result as JSON.
import {createOpenAI} from '@ai-sdk/openai';
import {createOpenAICompatible} from '@ai-sdk/openai-compatible';
import {generateText, stepCountIs, streamText, tool} from 'ai';
import {z} from 'zod';

globalThis.AI_SDK_LOG_WARNINGS = false;  // they would be a part of the result
const options = {maxRetries: 0};

const scenarios = {
  async answer(model) {
    const {text, finishReason, usage} = await generateText({model, prompt: 'plain', ...options});
    return [text, finishReason, usage.totalTokens > 0];
  },

  async stream(model) {
    const result = streamText({model, system: 'be brief', prompt: 'plain', ...options});
    let text = '';
    for await (const piece of result.textStream) text += piece;
    return [text, await result.finishReason];
  },

  // The SDK executes the tool and goes on until there is an answer.
  async tools(model) {
    const cities = [];
    const result = streamText({
      model, prompt: 'weather', stopWhen: stepCountIs(3), ...options,
      tools: {
        get_weather: tool({
          description: 'The weather in a city.',
          inputSchema: z.object({city: z.string()}),
          execute: async ({city}) => { cities.push(city); return 'sunny'; },
        }),
      },
    });
    return [await result.text, cities, (await result.steps).map(step => step.finishReason)];
  },

  async errors(model) {
    try {
      await generateText({model, prompt: 'plain', seed: 1, stopSequences: ['a', 'b', 'c', 'd', 'e'], ...options});
    } catch (error) {
      return [error.name, error.statusCode, error.message];
    }
    return [];
  },
};

const [names, baseURL, apiKey] = process.argv.slice(2);
const providers = {
  openai: createOpenAI({baseURL, apiKey}).chat('app'),
  responses: createOpenAI({baseURL, apiKey})('app'),
  compatible: createOpenAICompatible({name: 'agent', baseURL, apiKey, includeUsage: true})('app'),
};
const results = {};
for (const [provider, model] of Object.entries(providers)) {
  for (const name of names.split(',')) results[`${provider} ${name}`] = await scenarios[name](model);
}
console.log(JSON.stringify(results));
