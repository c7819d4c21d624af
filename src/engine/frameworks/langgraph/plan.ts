import { isDeepStrictEqual } from 'node:util';
import type { BaseMessage, ToolMessage } from '@langchain/core/messages';
import { RunFailure } from '../../agent.ts';
import { isRecord } from '../../encode.ts';
import { type Interrupt, type Message, MINTED_ID, type RunAgentInput } from '../../events.ts';
import { toBlocks } from './content.ts';
import { type RawInterrupt, resumeValue, toInterrupts } from './interrupts.ts';
import { fromLangChain, type MessageClasses, toLangChain } from './messages.ts';
import { isRepair, repairOrphans } from './orphans.ts';
import { checkpointId } from './position.ts';
import { type GraphSchemas, structuredInput } from './schemas.ts';
import { type CompiledGraph, isMessage, messageType, type ThreadState } from './shapes.ts';

/** What a run is to do with its graph. */
export type RunPlan =
  /**
   * Start with new input, from the newest checkpoint or from an earlier one (`checkpointId`); `conversation` is what is
   * said then.
   */
  | {
      kind: 'start';
      input: Record<string, unknown>;
      checkpointId?: string;
      conversation: BaseMessage[];
      /** Results made up for calls that never got one. */
      repairs: ToolMessage[];
    }
  /** Answer what the graph asked; `messages` came with the answer and join the conversation first. */
  | { kind: 'resume'; value: unknown; messages: BaseMessage[] }
  /** Go on after a breakpoint. */
  | { kind: 'continue' }
  /** The client cancelled a breakpoint: what was to come next does not. */
  | { kind: 'abandon' }
  /** Nothing new came while the graph waits for an answer: ask again. */
  | { kind: 'ask-again'; raw: RawInterrupt[]; interrupts: Interrupt[] };

/** The questions a thread is waiting at. */
function openInterrupts(state: ThreadState | undefined): RawInterrupt[] {
  return (state?.tasks ?? []).flatMap((task) => (task.interrupts ?? []) as RawInterrupt[]);
}

/** Whether a thread with no open question has stopped at one of the graph's breakpoints. */
function isAtBreakpoint(graph: CompiledGraph, state: ThreadState | undefined, cut: boolean): state is ThreadState {
  if (cut || state === undefined || state.next.length === 0) return false;
  // A node that failed is not a pause: the client has seen the error and may go on with something else.
  if (state.tasks.some((task) => task.error !== undefined)) return false;
  const { interruptBefore: before, interruptAfter: after } = graph as {
    interruptBefore?: unknown;
    interruptAfter?: unknown;
  };
  const stopsBefore = before === '*' || (Array.isArray(before) && state.next.some((node) => before.includes(node)));
  // Which node came before is not recorded.
  return stopsBefore || after === '*' || (Array.isArray(after) && after.length > 0);
}

/** What a thread waits at: its open questions, or else the breakpoint it stopped at. */
export function pausedAt(
  graph: CompiledGraph,
  state: ThreadState | undefined,
  cut: boolean,
): { raw: RawInterrupt[]; atBreakpoint: boolean } {
  const questions = openInterrupts(state);
  const atBreakpoint = questions.length === 0 && isAtBreakpoint(graph, state, cut);
  return { raw: atBreakpoint ? [breakpointInterrupt(state)] : questions, atBreakpoint };
}

/** A breakpoint as an interrupt, so that every client can show it and go on. */
export function breakpointInterrupt(state: ThreadState): RawInterrupt {
  return {
    id: `breakpoint:${checkpointId(state) ?? ''}`,
    value: {
      reason: 'langgraph:breakpoint',
      message: `The agent paused before: ${state.next.join(', ')}.`,
      next: state.next,
    },
  };
}

/**
 * Decides what the run does, from what the client sent and what the thread holds (ag-ui contract, section 11).
 *
 * @param state the thread's state, or undefined when the graph keeps none.
 * @param cut whether the thread's last run was cut short. What it waited at before can still be answered, but it no
 *   longer stands in the way of something new.
 * @throws RunFailure when the input breaks a rule the client must know.
 */
export async function planRun(
  graph: CompiledGraph,
  schemas: GraphSchemas,
  classes: MessageClasses,
  input: RunAgentInput,
  state: ThreadState | undefined,
  cut: boolean,
): Promise<RunPlan> {
  const { raw, atBreakpoint } = pausedAt(graph, state, cut);
  const open = toInterrupts(raw);
  const resume = resumeValue(input, open, Date.now());
  const stored = storedMessages(state);
  const toMessages = (fresh: Message[]): BaseMessage[] =>
    fresh.map((message) => toLangChain(message, classes)).filter((message) => message !== undefined);
  if (resume !== undefined) {
    const messages = schemas.structuredInput === null ? toMessages(findNews(input, stored).fresh) : [];
    if (!atBreakpoint) return { kind: 'resume', value: resume.value, messages };
    const cancelled = input.resume?.some((entry) => entry.status === 'cancelled') === true;
    return { kind: cancelled ? 'abandon' : 'continue' };
  }

  if (schemas.structuredInput !== null) {
    if (open.length > 0) return { kind: 'ask-again', raw, interrupts: open };
    return { kind: 'start', input: structuredInput(input, schemas.structuredInput), conversation: stored, repairs: [] };
  }
  const news = findNews(input, stored);
  if (open.length > 0) {
    if (news.fresh.length === 0) return { kind: 'ask-again', raw, interrupts: open };
    if (!cut) {
      throw new RunFailure(
        'INTERRUPT_PENDING',
        'The agent waits for an answer on this thread: send "resume" for its open interrupts first.',
      );
    }
  }
  const forkFrom =
    news.forkBefore === undefined ? undefined : await checkpointBefore(graph, input.threadId, news.forkBefore);
  if (news.forkBefore !== undefined && forkFrom === undefined) {
    throw new RunFailure(
      'VALIDATION_ERROR',
      'This message is too far back to be changed: the steps before it are no longer kept.',
    );
  }
  const kept = upTo(stored, news.forkBefore);
  const messages = repairOrphans(kept, toMessages(news.fresh), classes);
  return {
    kind: 'start',
    conversation: [...kept, ...messages],
    repairs: messages.filter(isRepair),
    input: { ...stateInput(input, schemas, state), ...(schemas.hasMessages && { messages }) },
    ...(forkFrom !== undefined && { checkpointId: forkFrom }),
  };
}

/** The messages before the one with the id; all of them without an id. */
function upTo(messages: BaseMessage[], id: string | undefined): BaseMessage[] {
  const end = id === undefined ? -1 : messages.findIndex((message) => message.id === id);
  return end < 0 ? messages : messages.slice(0, end);
}

function storedMessages(state: ThreadState | undefined): BaseMessage[] {
  const messages: unknown = (state?.values as Record<string, unknown> | undefined)?.messages;
  return Array.isArray(messages) ? messages.filter(isMessage) : [];
}

/** The messages the thread does not hold yet, and the id of the one it has to go back before, if any. */
function findNews(input: RunAgentInput, stored: readonly BaseMessage[]): { fresh: Message[]; forkBefore?: string } {
  const spoken = withoutKnownPrefix(
    input.messages.filter(({ role }) => role !== 'reasoning' && role !== 'activity'),
    stored,
  );
  const storedById = new Map(stored.map((message) => [message.id, message]));
  const fresh = spoken.filter((message) => !storedById.has(message.id));
  const lastUserAt = spoken.findLastIndex(({ role }) => role === 'user');
  const lastUser = spoken[lastUserAt];
  const original = lastUser && storedById.get(lastUser.id);
  if (lastUser === undefined || original === undefined) return { fresh };
  // Something new after a known user message, such as a tool result, carries the conversation on.
  if (spoken.slice(lastUserAt + 1).some((message) => !storedById.has(message.id))) return { fresh };
  const sent = 'content' in lastUser ? toBlocks(lastUser.content as Parameters<typeof toBlocks>[0]) : '';
  const edited = !isDeepStrictEqual(comparable(original.content), comparable(sent));
  const shorter =
    spoken.filter(({ role }) => SPOKEN.has(role)).length <
    stored.filter((message) => SPOKEN.has(messageType(message) ?? '')).length;
  return edited || shorter ? { fresh: [lastUser], forkBefore: lastUser.id } : { fresh };
}

/**
 * A client that gives its messages no ids and sends the whole transcript: what it repeats is told by what was said.
 * A single message is always new, for such a client may also send only the newest.
 */
function withoutKnownPrefix(spoken: Message[], stored: readonly BaseMessage[]): Message[] {
  if (spoken.length < 2 || !spoken.every(({ id }) => id.startsWith(MINTED_ID))) return spoken;
  const said = fromLangChain(stored)
    .map(utterance)
    .filter((text) => text !== undefined);
  const known = spoken.findIndex((message, index) => {
    const text = utterance(message);
    return text === undefined || text !== said[index];
  });
  return known < 0 ? [] : spoken.slice(known);
}

/** Who said what, for comparing; undefined for messages without text of the user or the assistant. */
function utterance(message: Message): string | undefined {
  if (message.role !== 'user' && message.role !== 'assistant') return undefined;
  const text = comparable(message.role === 'user' ? toBlocks(message.content) : message.content);
  return typeof text === 'string' && text !== '' ? `${message.role}: ${text}` : undefined;
}

/** Roles of AG-UI and kinds of LangChain that are part of the dialogue; system messages are not. */
const SPOKEN: ReadonlySet<string> = new Set(['user', 'assistant', 'tool', 'human', 'ai']);

/** A message's content in one form, so that text and a list of text blocks compare equal. */
function comparable(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  const texts = content.map((block) => (isRecord(block) && block.type === 'text' ? block.text : undefined));
  return texts.every((text) => text !== undefined) ? texts.join('') : JSON.parse(JSON.stringify(content));
}

async function checkpointBefore(
  graph: CompiledGraph,
  threadId: string,
  messageId: string,
): Promise<string | undefined> {
  for await (const state of graph.getStateHistory({ configurable: { thread_id: threadId } })) {
    if (storedMessages(state).some((message) => message.id === messageId)) continue;
    return checkpointId(state);
  }
  return undefined;
}

/** What the client's state, tools and context put into the graph's input, under the keys its schema has. */
function stateInput(
  input: RunAgentInput,
  schemas: GraphSchemas,
  state: ThreadState | undefined,
): Record<string, unknown> {
  const current = (state?.values ?? {}) as Record<string, unknown>;
  const taken: Record<string, unknown> = {};
  const sent: unknown = input.state;
  if (isRecord(sent)) {
    for (const [key, value] of Object.entries(sent)) {
      if (key === 'messages' || key === 'tools' || !schemas.inputKeys.has(key)) continue;
      // Clients send their whole state back with every run; written again, a reducer would apply it twice.
      if (sameJson(value, current[key])) continue;
      taken[key] = value;
    }
  }
  if (schemas.inputKeys.has('tools')) taken.tools = input.tools;
  if (schemas.inputKeys.has('context')) taken.context = input.context;
  if (schemas.inputKeys.has('ag-ui')) taken['ag-ui'] = { tools: input.tools, context: input.context };
  return taken;
}

function sameJson(left: unknown, right: unknown): boolean {
  if (right === undefined) return left === undefined;
  return isDeepStrictEqual(left, JSON.parse(JSON.stringify(right)));
}
