import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/package-info.ts';
import { adminOf } from '../admin/support.ts';
import { SCRIPTED_MODEL } from '../support/agents.ts';
import { createTestApp, type TestApp, tempFolder, writeFiles } from '../support/app.ts';
import { startReceiver, treeOf } from '../support/otlp.ts';
import { installCopies } from '../support/own-packages.ts';
import { ofType, runEvents, runInput, textOf } from '../support/runs.ts';
import { configure, otlp, runTraced } from '../telemetry/support.ts';

const AGENT = `
import { END, MessagesAnnotation, START, StateGraph, Command, interrupt } from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { emitCustom } from 'agent-engine-server/agent';
import { createRequire } from 'node:module';
import { z } from 'zod';
import { ScriptedModel, call } from './scripted.ts';
const where = createRequire(import.meta.url).resolve('@langchain/langgraph');
const book = tool(async ({ seat }) => 'booked ' + seat + ': ' + interrupt({ message: 'Book ' + seat + '?' }), {
  name: 'book', description: 'books', schema: z.object({ seat: z.string() }),
});
const model = new ScriptedModel([['one ', 'moment', call(0, 'c1', 'book', '{"seat":"12A"}')], ['do', 'ne']]);
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async (state) => {
    emitCustom('where', { where, human: state.messages.some((message) => message instanceof HumanMessage) });
    return { messages: [await model.invoke(state.messages)] };
  })
  .addNode('tools', new ToolNode([book]))
  .addEdge(START, 'model')
  .addConditionalEdges('model', (state) => (state.messages.at(-1).tool_calls?.length ? 'tools' : END))
  .addEdge('tools', 'model');
`;

/** Talks through a tool call with a question in it, and back. */
async function expectConversationWorks({ app }: Pick<TestApp, 'app'>, expectedFolder: string): Promise<void> {
  const input = runInput('book me a seat');
  const asked = await runEvents(app, input);
  const where = ofType(asked, 'CUSTOM').find(({ name }) => name === 'where')?.value as {
    where: string;
    human: boolean;
  };
  expect(where.where.startsWith(join(expectedFolder, 'node_modules'))).toBe(true);
  // The message is of the agent's own class, or its code could not tell who spoke.
  expect(where.human).toBe(true);
  expect(textOf(asked)).toBe('one moment');
  expect(ofType(asked, 'TOOL_CALL_START')).toMatchObject([{ toolCallId: 'c1', toolCallName: 'book' }]);
  const { outcome } = asked.at(-1) as unknown as {
    outcome: { type: string; interrupts: { id: string; message: string }[] };
  };
  expect(outcome).toMatchObject({ type: 'interrupt', interrupts: [{ message: 'Book 12A?' }] });
  const answered = await runEvents(
    app,
    runInput('', {
      threadId: input.threadId,
      messages: [],
      resume: [{ interruptId: outcome.interrupts[0]?.id ?? '', status: 'resolved', payload: 'yes' }],
    }),
  );
  expect(ofType(answered, 'TOOL_CALL_RESULT')).toMatchObject([{ toolCallId: 'c1', content: 'booked 12A: yes' }]);
  expect(textOf(answered)).toBe('done');
  expect(answered.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } });
  const detail = (await app.inject(`/agent/sessions/${input.threadId}`)).json() as { messages: { content: string }[] };
  expect(detail.messages.map(({ content }) => content)).toEqual(['book me a seat', 'one moment', 'done']);
  const capabilities = (await app.inject('/agent/capabilities')).json() as object;
  expect(capabilities).toMatchObject({ input: { mode: 'chat' }, capabilities: { history: true } });
  const graph = (await app.inject('/agent/graph')).json() as { nodes: { id: string }[] };
  expect(graph.nodes.map(({ id }) => id)).toContain('node:tools');
}

const FILES = { 'agent.ts': AGENT, 'scripted.ts': SCRIPTED_MODEL };

test('a lone file in an empty folder uses the server’s packages', async () => {
  // The resolver of the folder itself sees nothing, so this agent states where it expects its packages.
  const files = {
    ...FILES,
    'agent.ts': AGENT.replace(
      /^const where = .*$/m,
      `const where = '${packageRoot.replace(/\/$/, '')}/node_modules/x';`,
    ),
  };
  await expectConversationWorks(await createTestApp({ files, agent: 'agent.ts' }), packageRoot.replace(/\/$/, ''));
});

test('the folder’s own copy of LangGraph wins, and everything works across the two copies', async () => {
  const root = tempFolder();
  writeFiles(root, { ...FILES, 'package.json': '{"type":"module"}' });
  installCopies(root, ['@langchain/langgraph', '@langchain/core', 'zod']);
  const own = createRequire(join(root, 'agent.ts')).resolve('@langchain/langgraph');
  expect(own.startsWith(root)).toBe(true);
  const server = await createTestApp({ root, agent: 'agent.ts' });
  expect((await server.app.inject('/health')).json()).toMatchObject({ status: 'ok' });
  await expectConversationWorks(server, root);
  expect((await server.app.inject({ method: 'POST', url: '/reload' })).statusCode).toBe(200);
  await expectConversationWorks(server, root);
  // Spans come from the callbacks of that copy.
  const receiver = await startReceiver();
  await configure(adminOf(server.app), otlp(receiver.url));
  const { spans } = await runTraced(server, receiver);
  expect(treeOf(spans)).toEqual([
    'AGENT agent',
    '  CHAIN model',
    '    LLM chat script-1',
    '  CHAIN tools',
    '    TOOL book',
  ]);
});

test('a folder with some packages of its own takes the others from the server', async () => {
  const root = tempFolder();
  writeFiles(root, {
    'agent.ts': `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
import { word } from 'my-words';
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('work', () => ({ messages: [new AIMessage(word)] })).addEdge(START, 'work').addEdge('work', END);`,
  });
  mkdirSync(join(root, 'node_modules/my-words'), { recursive: true });
  writeFiles(join(root, 'node_modules/my-words'), {
    'package.json': '{"name":"my-words","version":"1.0.0","type":"module","exports":"./index.js"}',
    'index.js': "export const word = 'mine';",
  });
  const { app } = await createTestApp({ root, agent: 'agent.ts' });
  expect(textOf(await runEvents(app, runInput('hi')))).toBe('mine');
});
