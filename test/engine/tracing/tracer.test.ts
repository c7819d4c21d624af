import { expect, test } from 'vitest';
import { RunFailure } from '../../../src/engine/agent.ts';
import type { RunAgentInput } from '../../../src/engine/events.ts';
import type { SpanRecord } from '../../../src/engine/tracing/span.ts';
import { createTracer, type TracedRun } from '../../../src/engine/tracing/tracer.ts';
import { runInput } from '../../support/runs.ts';

/** A run that is traced, and what its trace is heard to be. */
function begin(more: Partial<TracedRun> = {}) {
  const spans: SpanRecord[] = [];
  const sink = { onEnd: (span: SpanRecord) => void spans.push(span) };
  const tracer = createTracer('desk', [sink], { maxValueBytes: 65_536, secrets: [] });
  const { signal } = new AbortController();
  const input = runInput('hello') as unknown as RunAgentInput;
  const run = { input, userId: null, upstream: undefined, checks: [], signal, generation: 1, ...more };
  const trace = tracer?.begin(run);
  if (trace === undefined) throw new Error('nobody listens');
  return { trace, spans };
}

test('nobody listens, nothing is traced', () => {
  expect(createTracer('desk', [], { maxValueBytes: 65_536, secrets: [] })).toBeUndefined();
});

test('the prompts a run has used are on its root, each version once', () => {
  const { trace, spans } = begin();
  trace.promptsUsed.push({ promptId: 'greet', version: 3 }, { promptId: 'rules', version: 1 });
  trace.promptsUsed.push({ promptId: 'greet', version: 3 });
  trace.close({ status: 'finished' });
  expect(spans[0]?.attributes['service.prompts']).toEqual(['greet@3', 'rules@1']);
});

test('whatever is open is closed with the run, from the inside out, and nothing comes after it', () => {
  const { trace, spans } = begin();
  const outer = trace.start('outer', 'CHAIN', trace.root);
  const inner = trace.start('inner', 'LLM', outer);
  const failure = new RunFailure('EXECUTION_TIMEOUT', 'The run was stopped after 1 seconds.');
  trace.close({ status: 'failed', failure });
  inner.end();
  trace.start('late', 'TOOL', outer).end();
  trace.close({ status: 'finished' });
  expect(spans.map(({ name, status, statusMessage }) => [name, status, statusMessage])).toEqual(
    ['inner', 'outer', 'desk'].map((name) => [name, 'error', failure.message]),
  );
});

test('what an abort makes a span throw counts as the abort', () => {
  const controller = new AbortController();
  const { trace, spans } = begin({ signal: controller.signal });
  const span = trace.start('model', 'LLM', trace.root);
  controller.abort(new RunFailure('CANCELLED', 'The run was cancelled.'));
  trace.endWith(span, new DOMException('aborted', 'AbortError'));
  expect(spans[0]).toMatchObject({ status: 'unset', attributes: { 'service.cancelled': true } });
});
