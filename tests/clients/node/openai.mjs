// OpenAI's official client for Node; prints what it saw, for comparison. Environment: BASE_URL, API_KEY, MODEL, EMBEDDER.
import assert from "node:assert";
import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";

const { BASE_URL: baseURL, API_KEY: apiKey, MODEL: model, EMBEDDER: embedder } = process.env;
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 30_000 });
const messages = [{ role: "user", content: "Say hello, 你好, olá" }];
const Rent = z.object({ tenant: z.string(), months: z.number() });
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

const seen = {};
const chat = await client.chat.completions.create({ model, messages, n: 2, logprobs: true });
seen.chat = [chat.choices, chat.usage];

const chunks = [];
const options = { model, messages, stream: true, stream_options: { include_usage: true }, reasoning_effort: "high" };
for await (const chunk of await client.chat.completions.create(options)) chunks.push([chunk.choices, chunk.usage]);
seen.chunks = chunks;

const asked = [];
const run = (city) => (asked.push(city), "20 °C");
const weather = { name: "weather", parameters, parse: JSON.parse, function: ({ city }) => run(city) };
for (const stream of [false, true]) {
  const runner = client.chat.completions.runTools({ model, messages, stream, tools: [{ type: "function", function: weather }] });
  seen[`tools, streamed: ${stream}`] = await runner.finalContent();
}
assert.equal(asked.length, 2);

const parsed = await client.chat.completions.parse({ model, messages, response_format: zodResponseFormat(Rent, "rent") });
seen.parsed = parsed.choices[0].message.parsed;

const response = await client.responses.create({ model, input: "Say hello", reasoning: { effort: "low" } });
seen.response = [response.output_text, response.usage];
const events = client.responses.stream({ model, input: "Say hello", tools: [{ type: "function", name: "weather", strict: false, parameters }] });
seen.events = [];
for await (const event of events) seen.events.push(event.type);
const last = await events.finalResponse();
seen.calls = last.output.map(({ name, arguments: given, call_id }) => [name, given, call_id]);
seen.structured = (await client.responses.parse({ model, input: "x", text: { format: zodTextFormat(Rent, "rent") } })).output_parsed;

const vectors = [{}, { encoding_format: "float" }].map((more) => client.embeddings.create({ model: embedder, input: ["a", "b"], ...more }));
const [base64, floats] = (await Promise.all(vectors)).map((answer) => answer.data.map((item) => Array.from(item.embedding)));
assert.deepEqual(base64, floats);
seen.vectors = floats;

const names = [];
for await (const listed of client.models.list()) names.push(listed.id);
assert(names.includes(model));

for (const [failure, body, key] of [
  [OpenAI.NotFoundError, { model: "none-such", messages }, apiKey],
  [OpenAI.BadRequestError, { model, messages: [] }, apiKey],
  [OpenAI.AuthenticationError, { model, messages }, "sk-wrong"],
])
  await assert.rejects(
    () => new OpenAI({ baseURL, apiKey: key, maxRetries: 0 }).chat.completions.create(body),
    (error) => error instanceof failure && Boolean(error.message),
  );

console.log(JSON.stringify(seen));
