import { expect, test } from 'vitest';
import { everythingAgent } from '../support/everything.ts';
import { messagesGraph, oneModel } from '../support/graphs.ts';
import { spanOf, startReceiver, treeOf, type WireSpan } from '../support/otlp.ts';
import { runInput } from '../support/runs.ts';
import { oneTool, otlp, runTraced, traced } from './support.ts';

const OK = 1;
const ERROR = 2;

test('a run is a tree of the agent, its nodes, models and tools', async () => {
  const receiver = await startReceiver();
  const server = await traced(everythingAgent({ model: '{}' }), otlp(receiver.url));
  const input = runInput('go to Lyon');
  const { spans } = await runTraced(server, receiver, input, { 'x-service-user-id': 'ana' });
  expect(treeOf(spans)).toEqual([
    'AGENT agent',
    '  CHAIN model',
    '    LLM chat script-1',
    '  CHAIN tools',
    '    TOOL trains',
    '    TOOL weather',
    '  CHAIN note',
    '  CHAIN model',
    '    LLM chat script-1',
  ]);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  for (const span of spans) {
    expect(span.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(span.status).toEqual({ code: OK, message: '' });
    expect(span.endNano).toBeGreaterThanOrEqual(span.startNano);
    expect(span.attributes).toMatchObject({
      'session.id': input.threadId,
      'user.id': 'ana',
      'service.run_id': input.runId,
    });
    expect(span.resource).toMatchObject({ 'service.name': 'agent' });
  }
  const root = spanOf(spans, 'AGENT');
  expect(root.parentSpanId).toBe('');
  expect(Math.abs(Number(root.startNano / 1_000_000n) - Date.now())).toBeLessThan(60_000);
  expect(root.attributes).toMatchObject({
    'agent.name': 'agent',
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'agent',
    'gen_ai.conversation.id': input.threadId,
    'service.engine_generation': 2,
    'service.run.status': 'finished',
    'input.value': 'go to Lyon',
    'input.mime_type': 'text/plain',
  });
  expect(root.attributes['output.value']).toContain('Take the 14:02.');
  const tool = spanOf(spans, 'TOOL', 'trains');
  expect(tool.attributes).toMatchObject({
    'tool.name': 'trains',
    'tool.parameters': '{"to":"Lyon"}',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.call.id': 'to1',
    'input.value': '{"to":"Lyon"}',
    'input.mime_type': 'application/json',
    'output.value': 'trains to Lyon',
    'output.mime_type': 'text/plain',
  });
  expect(tool.attributes).not.toHaveProperty('service.mcp_server');
});

test('a model tells its name, its tokens, why it ended, and when it began to answer', async () => {
  const receiver = await startReceiver();
  const usage = `{
    input_tokens: 100, output_tokens: 20, total_tokens: 120,
    input_token_details: { cache_read: 60, cache_creation: 30 }, output_token_details: { reasoning: 8 },
  }`;
  const agent = oneModel(
    `new ScriptedModel([[{ id: 'm1' }, 'Good ', 'day', {
      usage_metadata: ${usage}, response_metadata: { finish_reason: 'stop', model_name: 'script-1-2026' },
    }]])`,
  ).replace(
    'export const graph',
    `model.invocationParams = () => ({ temperature: 0.5, max_tokens: 400, api_key: 'abcdefgh12345', max_output_tokens: 12000 });
export const graph`,
  );
  const server = await traced(agent, otlp(receiver.url));
  const { spans } = await runTraced(server, receiver);
  const model = spanOf(spans, 'LLM');
  expect(model).toMatchObject({ name: 'chat script-1', kind: 3 });
  expect(model.attributes).toMatchObject({
    'llm.provider': 'scripted',
    'llm.system': 'scripted',
    'llm.model_name': 'script-1-2026',
    'llm.token_count.prompt': 100,
    'llm.token_count.completion': 20,
    'llm.token_count.total': 120,
    'llm.token_count.prompt_details.cache_read': 60,
    'llm.token_count.prompt_details.cache_write': 30,
    'llm.token_count.completion_details.reasoning': 8,
    'llm.finish_reason': 'stop',
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'scripted',
    'gen_ai.request.model': 'script-1',
    'gen_ai.request.temperature': 0.5,
    'gen_ai.request.max_tokens': 400,
    'gen_ai.response.model': 'script-1-2026',
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.usage.input_tokens': 100,
    'gen_ai.usage.output_tokens': 20,
    'gen_ai.usage.cache_read.input_tokens': 60,
    'gen_ai.usage.cache_creation.input_tokens': 30,
    'gen_ai.usage.reasoning.output_tokens': 8,
    'input.mime_type': 'application/json',
  });
  expect(model.attributes['gen_ai.response.time_to_first_chunk']).toBeGreaterThan(0);
  expect(model.events.map(({ name }) => name)).toEqual(['first_token']);
  expect(JSON.parse(String(model.attributes['llm.invocation_parameters']))).toEqual({
    temperature: 0.5,
    max_tokens: 400,
    api_key: '***',
    max_output_tokens: 12000,
  });
  expect(JSON.parse(String(model.attributes['input.value']))).toMatchObject({
    messages: [{ role: 'user', content: 'hello' }],
  });
  expect(JSON.parse(String(model.attributes['output.value']))).toMatchObject({
    role: 'assistant',
    content: 'Good day',
  });
});

test('retrievers, tools of MCP servers, subgraphs and parallel nodes', async () => {
  const receiver = await startReceiver();
  const agent = messagesGraph(
    `.addNode('left', async (state, config) => { await found.invoke('trains', config); return {}; })
  .addNode('right', async (state, config) => { await remote.invoke({ at: 'here' }, config); return {}; })
  .addNode('inner', inner)
  .addEdge(START, 'left').addEdge(START, 'right').addEdge('left', 'inner').addEdge('right', 'inner').addEdge('inner', END)`,
    `
import { BaseRetriever } from '@langchain/core/retrievers';
import { Document } from '@langchain/core/documents';
class Found extends BaseRetriever {
  lc_namespace = ['test'];
  async _getRelevantDocuments(query) { return [new Document({ pageContent: 'about ' + query, metadata: { page: 3 } })]; }
}
const found = new Found();
const remote = tool(async () => 'there', {
  name: 'map', description: 'maps', schema: z.object({ at: z.string() }), metadata: { mcpServer: 'city-maps' },
});
const inner = new StateGraph(MessagesAnnotation)
  .addNode('deep', () => ({ messages: [new AIMessage('done')] })).addEdge(START, 'deep').addEdge('deep', END).compile();
`,
  );
  const server = await traced(agent, otlp(receiver.url));
  const { spans } = await runTraced(server, receiver);
  const parentOf = (span: WireSpan) => spans.find(({ spanId }) => spanId === span.parentSpanId)?.name;
  const retriever = spanOf(spans, 'RETRIEVER');
  expect(parentOf(retriever)).toBe('left');
  expect(retriever.attributes).toMatchObject({ 'input.value': 'trains', 'input.mime_type': 'text/plain' });
  expect(JSON.parse(String(retriever.attributes['output.value']))).toEqual([
    { pageContent: 'about trains', metadata: { page: 3 } },
  ]);
  const tool = spanOf(spans, 'TOOL', 'map');
  expect(parentOf(tool)).toBe('right');
  expect(tool.attributes['service.mcp_server']).toBe('city-maps');
  const deep = spanOf(spans, 'CHAIN', 'deep');
  const ancestors: (string | undefined)[] = [];
  for (let at: WireSpan | undefined = deep; at !== undefined; ) {
    ancestors.push(at.name);
    const { parentSpanId }: WireSpan = at;
    at = spans.find(({ spanId }) => spanId === parentSpanId);
  }
  expect(ancestors).toEqual(expect.arrayContaining(['deep', 'inner', 'agent']));
  expect(ancestors.at(-1)).toBe('agent');
});

test('what fails is told by its kind, never by its text', async () => {
  const receiver = await startReceiver();
  const agent = oneModel(
    'new ScriptedModel([[Object.assign(new RangeError("the key is hunter22"), { status: 429 })]])',
  );
  const server = await traced(agent, otlp(receiver.url));
  const { spans, events } = await runTraced(server, receiver);
  expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR' });
  const model = spanOf(spans, 'LLM');
  expect(model.status).toEqual({ code: ERROR, message: 'The model call failed (RangeError, status 429).' });
  expect(model.attributes['error.type']).toBe('RangeError');
  expect(model.events).toContainEqual({
    name: 'exception',
    attributes: { 'exception.type': 'RangeError', 'exception.message': model.status.message },
  });
  expect(spanOf(spans, 'CHAIN', 'model').status.code).toBe(ERROR);
  const root = spanOf(spans, 'AGENT');
  expect(root.status).toEqual({ code: ERROR, message: 'The agent could not complete this run.' });
  expect(root.attributes).toMatchObject({ 'error.type': 'FRAMEWORK_ERROR', 'service.run.status': 'failed' });
  expect(receiver.text).not.toContain('hunter22');
});

test('a tool that fails is red although the agent goes on', async () => {
  const receiver = await startReceiver();
  const server = await traced(oneTool(`throw new TypeError('no such seat');`), otlp(receiver.url));
  const { spans } = await runTraced(server, receiver);
  expect(spanOf(spans, 'TOOL')).toMatchObject({
    status: { code: ERROR, message: 'The tool failed (TypeError).' },
    attributes: { 'error.type': 'TypeError', 'tool.name': 'book' },
  });
  expect(spanOf(spans, 'AGENT').status.code).toBe(OK);
});

test('a question to the user is no fault, and the answer is a run of its own on the same session', async () => {
  const receiver = await startReceiver();
  const server = await traced(oneTool(`return 'booked: ' + interrupt({ message: 'Book?' });`), otlp(receiver.url));
  const input = runInput('a seat');
  const asked = await runTraced(server, receiver, input);
  const { outcome } = asked.events.at(-1) as unknown as { outcome: { interrupts: { id: string }[] } };
  for (const span of [
    spanOf(asked.spans, 'TOOL'),
    spanOf(asked.spans, 'CHAIN', 'tools'),
    spanOf(asked.spans, 'AGENT'),
  ]) {
    expect(span.status.code, span.name).toBe(OK);
    expect(span.attributes['service.interrupted'], span.name).toBe(true);
    expect(span.events.map(({ name }) => name)).toContain('interrupt');
  }
  expect(spanOf(asked.spans, 'AGENT').attributes['service.run.status']).toBe('awaiting_input');
  const answer = runInput('', {
    threadId: input.threadId,
    messages: [],
    resume: [{ interruptId: outcome.interrupts[0]?.id ?? '', status: 'resolved', payload: 'yes' }],
  });
  const { spans } = await runTraced(server, receiver, answer);
  expect(spanOf(spans, 'TOOL')).toMatchObject({ status: { code: OK }, attributes: { 'output.value': 'booked: yes' } });
  const root = spanOf(spans, 'AGENT');
  expect(root.attributes).toMatchObject({ 'session.id': input.threadId, 'service.run.status': 'finished' });
  expect(String(root.attributes['input.value'])).toContain('"payload":"yes"');
  expect(root.traceId).not.toBe(asked.spans[0]?.traceId);
});

test('a rejected message is a trace, with the guardrail that refused it; an accepted one has it too', async () => {
  const receiver = await startReceiver();
  const server = await traced(oneModel(`new ScriptedModel([['hi']])`), otlp(receiver.url));
  await server.admin.post('/guardrails', {
    name: 'No alpha',
    position: 'input',
    guardrail: { config_id: 'ban_list', banned_words: ['alpha'] },
  });
  const bad = runInput('alpha');
  const answer = await server.app.inject({ method: 'POST', url: '/agent/run', payload: bad });
  expect(answer.statusCode).toBe(429);
  const all = await receiver.until((spans) => spans.length === 2, 'the trace of a rejected run');
  expect(treeOf(all)).toEqual(['AGENT agent', '  GUARDRAIL ban_list']);
  expect(spanOf(all, 'GUARDRAIL')).toMatchObject({
    status: { code: ERROR },
    attributes: { 'input.value': 'alpha', 'output.value': 'rejected', 'service.guardrail.accepted': false },
  });
  expect(spanOf(all, 'AGENT')).toMatchObject({
    status: { code: ERROR },
    attributes: { 'service.run.status': 'rejected', 'service.run_id': bad.runId, 'input.value': 'alpha' },
  });
  const { spans } = await runTraced(server, receiver);
  expect(treeOf(spans).slice(0, 2)).toEqual(['AGENT agent', '  GUARDRAIL ban_list']);
  expect(spanOf(spans, 'GUARDRAIL')).toMatchObject({
    status: { code: OK },
    attributes: { 'output.value': 'accepted' },
  });
});

test('a run becomes part of its caller’s trace', async () => {
  const receiver = await startReceiver();
  const server = await traced(oneModel(`new ScriptedModel([['hi']])`), otlp(receiver.url));
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-00`, tracestate: 'vendor=abc' };
  const { spans } = await runTraced(server, receiver, runInput('hello'), headers);
  expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
  expect(spanOf(spans, 'AGENT')).toMatchObject({ parentSpanId: '00f067aa0ba902b7', traceState: 'vendor=abc', kind: 2 });
  for (const bad of [`00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, 'nonsense', `ff-${traceId}-00f067aa0ba902b7-01`]) {
    const own = await runTraced(server, receiver, runInput('hello'), { traceparent: bad });
    expect(spanOf(own.spans, 'AGENT').parentSpanId).toBe('');
    expect(own.spans[0]?.traceId).toMatch(/^(?!0+$)[0-9a-f]{32}$/);
  }
});

test('the deprecated routes are traced alike', async () => {
  const receiver = await startReceiver();
  const server = await traced(oneModel(`new ScriptedModel([['hi']])`), otlp(receiver.url));
  const headers = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
  const payload = { session_id: 'th-1', query: 'hello' };
  await server.app.inject({ method: 'POST', url: '/agent/invoke', payload, headers });
  const spans = await receiver.until((all) => all.some(({ name }) => name === 'agent'));
  expect(spanOf(spans, 'AGENT')).toMatchObject({
    parentSpanId: '00f067aa0ba902b7',
    attributes: { 'session.id': 'th-1', 'output.value': 'hi' },
  });
});

test('long texts are cut by bytes, between characters, and say so', async () => {
  const receiver = await startReceiver();
  const server = await traced(oneModel(`new ScriptedModel([['ü'.repeat(3000)]])`), otlp(receiver.url), {
    env: { SERVICE_TRACES_INPUT_VALUE_MAX_BYTES: '1024' },
  });
  const { spans } = await runTraced(server, receiver, runInput('€uro '.repeat(500)));
  for (const span of spans) {
    for (const value of Object.values(span.attributes)) {
      if (typeof value === 'string') expect(Buffer.byteLength(value)).toBeLessThanOrEqual(1024);
    }
  }
  const { attributes } = spanOf(spans, 'AGENT');
  expect(attributes['input.value']).toMatch(/^(?:€uro )+(?:€(?:u(?:r(?:o )?)?)?)?… \[cut\]$/);
  expect(attributes['output.value']).toMatch(/^ü+… \[cut\]$/);
  expect(Buffer.byteLength(String(attributes['output.value']))).toBeGreaterThan(1020);
});
