import type { RunAgentInput } from '@ag-ui/core';
import { type Admin, adminOf, type Json } from '../admin/support.ts';
import { createTestApp, type TestApp, type TestAppOptions } from '../support/app.ts';
import { GRAPH_FILES, toolLoop } from '../support/graphs.ts';
import { isWhole, ofRun, type Receiver, type WireSpan } from '../support/otlp.ts';
import { runEvents, runInput, type WireEvent } from '../support/runs.ts';

/** A server whose agent is traced: `providers` is what the admin surface is told. */
export async function traced(
  agent: string,
  providers: unknown,
  options: TestAppOptions = {},
): Promise<TestApp & { admin: Admin }> {
  const files = { ...GRAPH_FILES, 'agent.ts': agent, ...options.files };
  const server = await createTestApp({ agent: 'agent.ts:graph', ...options, files });
  const admin = adminOf(server.app);
  await configure(admin, providers);
  return { ...server, admin };
}

/** Writes the exporters. */
export async function configure(admin: Admin, providers: unknown): Promise<void> {
  const { status, body } = await admin.patch('/observability', { observability: providers });
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
}

/** The entry of an exporter to a collector. */
export const otlp = (url: string, more: object = {}) => ({ provider: 'OTLP', config: { endpoint: url, ...more } });

/** Runs the agent, and waits for the whole trace of it. */
export async function runTraced(
  { app }: Pick<TestApp, 'app'>,
  receiver: Receiver,
  input: RunAgentInput = runInput('hello'),
  headers: Record<string, string> = {},
): Promise<{ events: WireEvent[]; spans: WireSpan[] }> {
  const events = await runEvents(app, input, headers);
  const { runId } = input;
  return { events, spans: ofRun(await receiver.until((spans) => isWhole(spans, runId), 'the trace'), runId) };
}

/** How the one exporter is doing. */
export async function statusOf(admin: Admin): Promise<Json> {
  const { exporters } = (await admin.get('/observability/status')).body;
  return exporters[0];
}

/** An agent that calls one tool, whose code is `tool`, and then ends. */
export function oneTool(code: string, more = ''): string {
  return toolLoop(
    `new ScriptedModel([[call(0, 'c1', 'book', '{"seat":"12A"}')], ['do', 'ne']])`,
    `[tool(async ({ seat }) => { ${code} }, { name: 'book', description: 'books', schema: z.object({ seat: z.string() })${more} })]`,
  );
}
