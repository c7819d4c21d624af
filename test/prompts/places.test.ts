import { expect, onTestFinished, test, vi } from 'vitest';
import { createTestApp } from '../support/app.ts';
import { GRAPH_FILES, IMPORTS } from '../support/graphs.ts';
import { ofType, runEvents, runInput } from '../support/runs.ts';

const CONFIG = `
agent: { type: LANGGRAPH, config: { name: a, graph_definition: './agent.ts:graph' } }
prompts: [{ prompt_id: greet, version: 3, content: 'Hello {{ user }}' }]`;

/** Says from everywhere an agent's code can be who runs it, by what is imported and by what the factory was given. */
const AGENT = `${IMPORTS}
import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { RunnableLambda } from '@langchain/core/runnables';
import * as imported from 'agent-engine-server/agent';

export function graph(context) {
  const say = (place, helpers = imported) => {
    const { currentUser, currentThread, emitCustom, getPrompt, clientTools } = helpers;
    emitCustom(place, [currentUser(), currentThread(), getPrompt('greet').format({ user: currentUser() }), clientTools().length]);
  };
  const handler = (name, more) => ({
    ...more,
    async handleChatModelStart() { say(name + ' begins'); await sleep(3); say(name + ' ends'); },
  });
  const model = new ScriptedModel([['a', 'b']]);
  const look = tool(async () => { say('tool'); await sleep(1); say('tool after an await', context); return 'ok'; }, {
    name: 'look', description: 'looks', schema: z.object({}),
  });
  const inner = new StateGraph(MessagesAnnotation)
    .addNode('inner', async () => { await sleep(1); say('subgraph'); return {}; })
    .addEdge(START, 'inner').addEdge('inner', END).compile();
  const emitter = new EventEmitter();
  return new StateGraph(MessagesAnnotation)
    .addNode('node', async () => {
      say('node');
      say('node, by the context', context);
      await sleep(1);
      say('node after an await');
      await new Promise((resolve) => setTimeout(() => { say('timer'); resolve(); }, 1));
      await new Promise((resolve) => setImmediate(() => { say('immediate'); resolve(); }));
      queueMicrotask(() => say('microtask'));
      await Promise.all([1, 2].map(async (n) => { await sleep(n); say('parallel ' + n); }));
      emitter.once('now', () => say('listener'));
      emitter.emit('now');
      for await (const piece of (async function* () { yield 1; await sleep(1); say('generator'); })()) say('loop ' + piece);
      for await (const chunk of await model.stream('x')) if (chunk.content === 'a') say('stream');
      await RunnableLambda.from(async () => say('runnable')).pipe(async () => say('chain')).invoke(1);
      return { messages: [new AIMessage({ content: '', tool_calls: [{ id: 'c' + imported.currentThread(), name: 'look', args: {} }] })] };
    })
    .addNode('tools', new ToolNode([look]))
    .addNode('left', async () => { await sleep(2); say('left'); return {}; })
    .addNode('right', async () => { await sleep(1); say('right'); return {}; })
    .addNode('sub', inner)
    .addNode('model', async (state) => {
      await model.invoke('x', { callbacks: [handler('handler that is awaited', { name: 'mine', awaitHandlers: true })] });
      await model.invoke('x', { callbacks: [handler('handler')] });
      return {};
    })
    .addEdge(START, 'node').addEdge('node', 'tools')
    .addEdge('tools', 'left').addEdge('tools', 'right').addEdge('left', 'sub').addEdge('right', 'sub')
    .addEdge('sub', 'model').addEdge('model', END);
}
`;

const PLACES = [
  'node',
  'node, by the context',
  'node after an await',
  'timer',
  'immediate',
  'microtask',
  'parallel 1',
  'parallel 2',
  'listener',
  'generator',
  'loop 1',
  'stream',
  'runnable',
  'chain',
  'tool',
  'tool after an await',
  'left',
  'right',
  'subgraph',
  'handler that is awaited begins',
  'handler that is awaited ends',
  'handler begins',
  'handler ends',
];

test('the helpers answer for their own run, wherever in the agent they are asked, with ten users at once', async () => {
  // As `agent-engine serve` sets it (test/env.test.ts).
  vi.stubEnv('LANGCHAIN_CALLBACKS_BACKGROUND', 'false');
  onTestFinished(() => void vi.unstubAllEnvs());
  const { app } = await createTestApp({ files: { ...GRAPH_FILES, 'agent.ts': AGENT, 'config.yaml': CONFIG } });
  const users = Array.from({ length: 10 }, (_, index) => `user-${index}`);
  await Promise.all(
    users.map(async (user, index) => {
      const threadId = `thread-of-${user}`;
      const tools = Array.from({ length: index }, (_, n) => ({ name: `t${n}`, description: '', parameters: {} }));
      const events = await runEvents(app, runInput('hi', { threadId, tools }), { 'x-service-user-id': user });
      expect(events.at(-1)?.type).toBe('RUN_FINISHED');
      const said = new Map(ofType(events, 'CUSTOM').map(({ name, value }) => [name, value]));
      const expected = [user, threadId, `Hello ${user}`, index];
      expect(Object.fromEntries(said)).toEqual(Object.fromEntries(PLACES.map((place) => [place, expected])));
    }),
  );
});
