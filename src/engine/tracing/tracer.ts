import { RunFailure } from '../agent.ts';
import type { RunAgentInput } from '../events.ts';
import type { GuardrailCheck } from '../guardrails/index.ts';
import type { RunResult } from '../run.ts';
import type { PromptUse } from '../run-scope.ts';
import { failureOf } from './failure.ts';
import { OpenSpan, type SpanFrame } from './open-span.ts';
import { createTextRecorder } from './recorded-text.ts';
import { createScrubber } from './scrub.ts';
import type { AttributeValue, SpanKind, SpanRecord, SpanSink } from './span.ts';
import { newTraceId, type Upstream } from './trace-context.ts';

/** A run as it is traced. */
export interface TracedRun {
  readonly input: RunAgentInput;
  readonly userId: string | null;
  /** The caller's own trace, of which this run becomes a part. */
  readonly upstream: Upstream | undefined;
  /** What the guardrails said before the run began. */
  readonly checks: readonly GuardrailCheck[];
  /** Aborted with a {@link RunFailure} when the run is stopped. */
  readonly signal: AbortSignal;
  /** Generation of the engine, where it is known. */
  readonly generation: number | undefined;
}

/** The spans of one run. Once it is closed nothing more is recorded. */
export interface RunTrace {
  /** The run itself. */
  readonly root: OpenSpan;
  /** Prompts the agent's code asked for, to be noted on the trace. */
  readonly promptsUsed: PromptUse[];
  /** Begins a span. */
  start(name: string, kind: SpanKind, parent: OpenSpan): OpenSpan;
  /** Ends a span on what was thrown in it. What ends a run early (a question to the user, a cancel) is no fault. */
  endWith(span: OpenSpan, error: unknown): void;
  /** Ends the run and whatever is still open in it. */
  close(result: RunResult): void;
}

/** Records runs of one engine. */
export interface Tracer {
  begin(run: TracedRun): RunTrace;
  /** Records a run that a guardrail refused, which never began. */
  refused(run: TracedRun): void;
}

/** What every engine of a server traces with. */
export interface TracingLimits {
  /** Longest text on a span, in bytes. */
  readonly maxValueBytes: number;
  /** Secrets that are taken out of everything, such as the environment's. */
  readonly secrets: readonly string[];
}

/** Makes the tracer of an agent; undefined when nobody listens, so that nothing is recorded at all. */
export function createTracer(agentName: string, sinks: readonly SpanSink[], limits: TracingLimits): Tracer | undefined {
  if (sinks.length === 0) return undefined;
  const texts = createTextRecorder(limits.maxValueBytes, createScrubber(limits.secrets));

  const open = (run: TracedRun) => {
    const { input, userId, upstream, checks, signal, generation } = run;
    const opened = new Set<OpenSpan>();
    const offset = Date.now() - performance.now();
    const common: Record<string, AttributeValue> = {
      'session.id': texts.text(input.threadId),
      'service.run_id': texts.text(input.runId),
      ...(userId !== null && { 'user.id': texts.text(userId) }),
    };
    let closed = false;
    const frame: SpanFrame = {
      traceId: upstream?.traceId ?? newTraceId(),
      common,
      texts,
      now: () => offset + performance.now(),
      finished(span, record) {
        if (closed) return;
        opened.delete(span);
        for (const sink of sinks) sink.onEnd(record);
      },
    };
    const traceState = upstream?.traceState;
    const begin = (
      name: string,
      kind: SpanKind,
      parent: Pick<SpanRecord, 'parentSpanId' | 'remoteParent' | 'traceState'>,
      startedAt?: number,
    ): OpenSpan => {
      const span = new OpenSpan(frame, name, kind, parent, startedAt);
      if (!closed) opened.add(span);
      return span;
    };
    const beneath = (parent: OpenSpan) => ({ parentSpanId: parent.id, remoteParent: false, traceState });
    const outer = { parentSpanId: upstream?.spanId, remoteParent: upstream !== undefined, traceState };
    const root = begin(agentName, 'AGENT', outer, checks[0] && offset + checks[0].startedAt)
      .set('agent.name', agentName)
      .set('gen_ai.operation.name', 'invoke_agent')
      .set('gen_ai.agent.name', agentName)
      .setText('gen_ai.conversation.id', input.threadId)
      .set('service.engine_generation', generation)
      .input(askedIn(input));
    const promptsUsed: PromptUse[] = [];
    for (const check of checks) {
      const span = begin(check.name, 'GUARDRAIL', beneath(root), offset + check.startedAt)
        .set('service.guardrail.accepted', check.accepted)
        .input(check.texts.length === 1 ? check.texts[0] : check.texts)
        .output(check.accepted ? 'accepted' : 'rejected');
      span.end(check.accepted ? 'ok' : 'error', check.accepted ? undefined : REJECTED, offset + check.endedAt);
    }

    const trace: RunTrace = {
      root,
      promptsUsed,
      start: (name, kind, parent) => begin(name, kind, beneath(parent)),
      endWith(span, error) {
        const stopped = signal.aborted && signal.reason instanceof RunFailure ? signal.reason : undefined;
        if (stopped !== undefined) return endStopped(span, stopped);
        const { name, is_bubble_up: bubbles } = (error ?? {}) as { name?: unknown; is_bubble_up?: unknown };
        if (name === 'GraphInterrupt' || name === 'NodeInterrupt') {
          span.set('service.interrupted', true).event('interrupt').end();
        } else if (bubbles === true) span.end();
        else {
          const failure = failureOf(span.kind, error);
          span.fail(failure.type, failure.message);
        }
      },
      close({ status, failure }) {
        if (closed) return;
        const rest = [...opened].filter((span) => span !== root).reverse();
        for (const span of rest) {
          if (failure === undefined) span.set('service.unfinished', true).end('unset');
          else endStopped(span, failure);
        }
        root.set('service.run.status', status);
        if (promptsUsed.length > 0) {
          root.set('service.prompts', [
            ...new Set(promptsUsed.map(({ promptId, version }) => `${promptId}@${version}`)),
          ]);
        }
        if (status === 'awaiting_input') root.set('service.interrupted', true).event('interrupt');
        if (failure === undefined) root.end();
        else endStopped(root, failure);
        closed = true;
        opened.clear();
      },
    };
    return trace;
  };

  return {
    begin: open,
    refused(run) {
      const { root } = open(run);
      root.set('service.run.status', 'rejected').fail('guardrail_rejected', REJECTED);
    },
  };
}

const REJECTED = 'A guardrail refused the message.';

/** Ends a span of a run that was stopped: by its user, which is no fault, or for one. */
function endStopped(span: OpenSpan, failure: RunFailure): void {
  if (failure.code === 'CANCELLED') span.set('service.cancelled', true).end('unset', failure.message);
  else span.fail(failure.code, failure.message);
}

/** What the user asks of the run: the newest message, the answers to the agent's questions, or else the state. */
function askedIn({ messages, resume, state }: RunAgentInput): unknown {
  if (resume !== undefined && resume.length > 0) return resume;
  const asked = messages.findLast(({ role }) => role === 'user');
  return asked === undefined ? state : 'content' in asked ? asked.content : undefined;
}
