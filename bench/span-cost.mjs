import { AIMessageChunk, HumanMessage } from '@langchain/core/messages';
import { order, wholeText } from './tokens.mjs';

const BATCH = 512;
const ROUNDS = 40;

/**
 * The same by itself: what recording one run of the bench's graph costs, and what encoding its spans does.
 *
 * @returns microseconds per run: the least over the rounds, which is nearest to a machine that does nothing else.
 */
export async function measureSpanCost(dist, tokens) {
  const { createTracer } = await import(`${dist}/engine/tracing/tracer.js`);
  const { GraphSpans } = await import(`${dist}/engine/frameworks/langgraph/graph-spans.js`);
  const { createOtlpEncoder } = await import(`${dist}/engine/observability/otlp-encoder.js`);
  const spans = [];
  const sink = { onEnd: (span) => spans.length < BATCH && spans.push(span) };
  const tracer = createTracer('bench', [sink], { maxValueBytes: 65_536, secrets: [] });
  const text = order({ tokens, delayMs: 0 });
  const asked = [new HumanMessage({ id: 'u1', content: text })];
  const answer = new AIMessageChunk({ id: 'm1', content: wholeText(tokens) });
  const input = {
    threadId: 't',
    runId: 'r',
    messages: [{ id: 'u1', role: 'user', content: text }],
    tools: [],
    context: [],
  };
  const { signal } = new AbortController();
  const record = () => {
    const trace = tracer.begin({ input, userId: null, upstream: undefined, checks: [], signal, generation: 1 });
    const graph = new GraphSpans(trace);
    const model = { ls_provider: 'fake', ls_model_name: 'fake' };
    graph.chainStart({}, { messages: asked }, '1', undefined, [], {}, 'LangGraph');
    graph.chainStart({}, { messages: asked }, '2', '1', [], { langgraph_node: 'answer' }, 'answer');
    graph.modelStart({ messages: asked }, 'chat', '3', '2', { invocation_params: {} }, model, 'FakeModel');
    for (let n = 0; n < tokens; n += 1) graph.modelToken('3');
    graph.modelEnd({ generations: [[{ message: answer, text: '' }]] }, '3');
    graph.chainEnd({ messages: [answer] }, '2');
    graph.chainEnd({ messages: [...asked, answer] }, '1');
    trace.close({ status: 'finished' });
  };
  const encode = await createOtlpEncoder({ serviceName: 'bench', serviceVersion: '1' });
  const least = (work, times) => {
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < ROUNDS; round += 1) {
      const startedAt = performance.now();
      for (let n = 0; n < times; n += 1) work();
      best = Math.min(best, ((performance.now() - startedAt) * 1_000) / times);
    }
    return best;
  };
  for (let n = 0; n < 2_000; n += 1) record();
  const recording = least(record, 200);
  const perRun = BATCH / 3;
  return { recording, encoding: least(() => encode(spans), 4) / perRun, bytes: encode(spans).length / perRun };
}
