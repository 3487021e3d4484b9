// Vercel's AI SDK over each of its clients; prints what it saw, for comparison. Environment: BASE_URL, API_KEY, MODEL, EMBEDDER.
import assert from "node:assert";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenResponses } from "@ai-sdk/open-responses";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Output, embedMany, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const { BASE_URL: baseURL, API_KEY: apiKey, MODEL: model, EMBEDDER: embedder } = process.env;
const compatible = createOpenAICompatible({ name: "x", baseURL, apiKey, includeUsage: true, supportsStructuredOutputs: true });
const openai = createOpenAI({ baseURL, apiKey });
const clients = {
  chat: openai.chat(model),
  compatible: compatible(model),
  messages: createAnthropic({ baseURL, apiKey })(model),
  "open-responses": createOpenResponses({ name: "x", url: `${baseURL}/responses`, apiKey })(model),
  responses: openai.responses(model),
};
const prompt = "Say hello, 你好, olá";
const schema = z.object({ tenant: z.string(), months: z.number() });
const asked = [];
const weather = tool({
  description: "The weather",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => (asked.push(city), "20 °C"),
});
const counted = ({ inputTokens, outputTokens, cachedInputTokens }) => [inputTokens, outputTokens, cachedInputTokens];

const seen = {};
for (const [name, client] of Object.entries(clients)) {
  const common = { model: client, prompt, maxRetries: 0 };
  const whole = await generateText(common);
  const streamed = streamText({ ...common, onError: ({ error }) => { throw error; } });
  let text = "";
  for await (const piece of streamed.textStream) text += piece;
  assert.equal(text, whole.text);

  asked.length = 0;
  const loop = streamText({ ...common, tools: { weather }, stopWhen: stepCountIs(3) });
  const kinds = [];
  for await (const part of loop.fullStream) kinds.push(part.type);
  const steps = await loop.steps;
  assert.deepEqual(asked, ["São Luís"]);
  assert.equal(steps.length, 2);

  seen[name] = [text, counted(await streamed.usage), await streamed.finishReason, kinds.filter((kind) => kind !== "raw"), steps[1].text];
  if (name !== "messages") {
    // What Anthropic's client makes of a schema depends on the model's name.
    const structured = await generateText({ ...common, output: Output.object({ schema }) });
    assert.deepEqual(structured.output, { tenant: "São Luís", months: 1.5 });
  }
}

const thinking = streamText({ model: compatible(model), prompt, maxRetries: 0, providerOptions: { x: { reasoningEffort: "high" } } });
seen.thoughts = "";
for await (const part of thinking.fullStream) if (part.type === "reasoning-delta") seen.thoughts += part.text;
assert(seen.thoughts);
seen.vectors = (await embedMany({ model: compatible.embeddingModel(embedder), values: ["a", "b"] })).embeddings;

console.log(JSON.stringify(seen));
