import type { TestAppOptions } from '../support/app.ts';
import type { ClientRun } from '../support/client.ts';
import { configWith, TOOLS_PROGRAM } from '../support/mcp.ts';

/** A server whose agent is made in `agent.ts` and has these tool servers. */
export function agentOptions(mcpServers: object[], more: TestAppOptions = {}): TestAppOptions {
  const files = { 'config.yaml': configWith(mcpServers), 'tools.mjs': TOOLS_PROGRAM, ...more.files };
  return { agent: undefined, ...more, files } as TestAppOptions;
}

/** The results a run told of, by the call's id. */
export function resultsOf({ events }: Pick<ClientRun, 'events'>): Record<string, unknown> {
  const results = events.filter(({ type }) => type === 'TOOL_CALL_RESULT');
  return Object.fromEntries(results.map(({ toolCallId, content }) => [toolCallId, content]));
}

/** What the agent said. */
export function textsOf({ events }: Pick<ClientRun, 'events'>): string {
  return events.map(({ type, delta }) => (type === 'TEXT_MESSAGE_CONTENT' ? String(delta) : '')).join('');
}
