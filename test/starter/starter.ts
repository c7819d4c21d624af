import { randomUUID } from 'node:crypto';
import { type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import type { ToolCall } from '@langchain/core/messages/tool';
import { Command, MemorySaver } from '@langchain/langgraph';
import { vi } from 'vitest';
import type { AgentContext, ClientTool } from '../../src/agent.ts';
import { createPrompts } from '../../src/engine/agent-context.ts';
import { withRunScope } from '../../src/engine/run-scope.ts';
import { graph } from '../../src/starter/agent.ts';
import type { StarterState } from '../../src/starter/state.ts';

const NO_MODEL = {
  AGENT_MODEL: '',
  OPENAI_API_KEY: '',
  OPENAI_BASE_URL: '',
  ANTHROPIC_API_KEY: '',
  GOOGLE_API_KEY: '',
};

/** The starter, really compiled, in one conversation. Nothing of the machine's environment reaches it. */
export function startConversation(overrides: Partial<AgentContext> = {}, env: Record<string, string> = {}) {
  for (const [name, value] of Object.entries({ ...NO_MODEL, ...env })) vi.stubEnv(name, value);
  const compiled = graph({
    name: 'starter',
    settings: { delayMs: 0 },
    tools: [],
    prompts: createPrompts([]),
    checkpointer: undefined,
    ...overrides,
  }).compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: randomUUID() } };

  /** Does `work` as part of a run for which the UI offers `tools`. */
  function inRun<T>(tools: ClientTool[], work: () => T): T {
    const input = { threadId: config.configurable.thread_id, runId: randomUUID(), messages: [], tools, context: [] };
    return withRunScope({ input, userId: null, emit: () => {}, promptsUsed: [] }, work);
  }

  /** One whole run; gives the state after it. */
  async function run(input: Parameters<typeof compiled.invoke>[0], tools: ClientTool[] = []) {
    await inRun(tools, () => compiled.invoke(input, config));
    const { values, tasks } = await compiled.getState(config);
    const state = values as StarterState;
    return {
      ...state,
      answer: state.messages.at(-1)?.text ?? '',
      interrupts: tasks.flatMap((task) => task.interrupts),
    };
  }

  return {
    compiled,
    config,
    run,
    say: (text: string, tools?: ClientTool[]) => run({ messages: [new HumanMessage(text)] }, tools),
    /** Answers the open questions by their ids, as the server does. */
    async resume(answer: unknown) {
      const { tasks } = await compiled.getState(config);
      const ids = tasks.flatMap((task) => task.interrupts.map(({ id }) => id ?? ''));
      return run(new Command({ resume: Object.fromEntries(ids.map((id) => [id, answer])) }) as never);
    },
  };
}

/** Name and arguments of every tool call in a conversation. */
export function calls(messages: BaseMessage[]): Pick<ToolCall, 'name' | 'args'>[] {
  const requests = messages.filter((message) => 'tool_calls' in message) as { tool_calls?: ToolCall[] }[];
  return requests.flatMap((request) => (request.tool_calls ?? []).map(({ name, args }) => ({ name, args })));
}

/** Text and status of every tool result in a conversation. */
export function results(messages: BaseMessage[]): { text: string; status: string | undefined }[] {
  return messages.filter(ToolMessage.isInstance).map(({ text, status }) => ({ text, status }));
}
