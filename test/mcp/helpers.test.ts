import { expect, test } from 'vitest';
import { getTools } from '../../src/agent.ts';
import { adminOf } from '../admin/support.ts';
import { stage } from '../support/client.ts';
import { IMPORTS } from '../support/graphs.ts';
import { toolsServer, traceOf } from '../support/mcp.ts';
import { agentOptions, textsOf } from './support.ts';

/** An agent that says which tools it got where, and what the one that repeats answers. */
const CURIOUS = `${IMPORTS}
import { getTools, emitCustom } from 'agent-engine-server/agent';
const names = (tools) => tools.map(({ name }) => name).join();
const loaded = await getTools();
const elsewhere = await Promise.resolve().then(() => getTools());
export const graph = async ({ tools }) => {
  const made = await getTools();
  return new StateGraph(MessagesAnnotation)
    .addNode('tell', async () => {
      const [first] = await getTools();
      const said = await first.invoke({ x: 1 });
      const all = [loaded, elsewhere, tools, made, await getTools()].map(names);
      return { messages: [new AIMessage(all.join(' ') + ' ' + said)] };
    })
    .addEdge(START, 'tell')
    .addEdge('tell', END);
};
`;

test('tools are there while the module loads, in its factory and in its runs', async () => {
  const server = await stage(CURIOUS, agentOptions([toolsServer('one', { tools: 'repeat,count' })]));
  const names = 'repeat,count';
  const user = server.client();
  await user.say('hi');
  expect(user.messages.at(-1)?.content).toBe(`${names} ${names} ${names} ${names} ${names} {"x":1}`);
});

test('two agents in one process each have their own tools', async () => {
  const one = await stage(CURIOUS, agentOptions([toolsServer('one', { tools: 'repeat' })]));
  const two = await stage(CURIOUS, agentOptions([toolsServer('two', { tools: 'other' })]));
  const [first, second] = [one.client(), two.client()];
  await Promise.all([first.say('hi'), second.say('hi')]);
  expect(first.messages.at(-1)?.content).toMatch(/^repeat repeat /);
  expect(second.messages.at(-1)?.content).toMatch(/^other other /);
});

test('outside of agents there are none', async () => {
  await expect(getTools()).rejects.toThrow('getTools() only works while the agent is loaded, and inside its runs.');
});

test('createAgent takes them, and lives with their errors', async () => {
  const source = `${IMPORTS}
import { createAgent } from 'langchain';
export const graph = ({ tools }) => createAgent({
  model: new ScriptedModel([
    [call(0, 'c1', 'repeat', '{"x":1}'), call(1, 'c2', 'fail', '{}')],
    (messages) => ['got ' + messages.filter((one) => one.getType() === 'tool').map((one) => one.content).join(' ')],
  ]),
  tools,
});
`;
  const server = await stage(source, agentOptions([toolsServer('one', { tools: 'repeat,fail' })]));
  const run = await server.client().say('hi');
  expect(textsOf(run)).toBe('got {"x":1} no such thing');
});

test('a server that needs approval asks in createAgent, too', async () => {
  const source = `${IMPORTS}
import { createAgent } from 'langchain';
export const graph = ({ tools }) => createAgent({
  model: new ScriptedModel([
    [call(0, 'c1', 'repeat', '{"x":1}'), call(1, 'c2', 'repeat', '{"x":2}')],
    (messages) => ['got ' + messages.filter((one) => one.getType() === 'tool').map((one) => one.content).join(' ')],
  ]),
  tools,
});
`;
  const server = await stage(source, agentOptions([toolsServer('one', {}, { requireApproval: true })]));
  const user = server.client();
  let run = await user.say('hi');
  for (let answers = 0; answers < 2; answers += 1) {
    const outcome = run.events.at(-1)?.outcome as { type: string; interrupts?: { id: string }[] };
    if (outcome.type !== 'interrupt') break;
    const resume = (outcome.interrupts ?? []).map(({ id }) => ({
      interruptId: id,
      status: 'resolved' as const,
      payload: { approved: true },
    }));
    run = await user.run({ resume });
  }
  expect(textsOf(run)).toBe('got {"x":1} {"x":2}');
  expect(traceOf(server.root).filter((line) => line.startsWith('call '))).toHaveLength(2);
});

test('a server is configured over HTTP, program or not', async () => {
  const server = await stage(CURIOUS.replace('await first.invoke({ x: 1 })', "'-'").replaceAll('first', '_first'), {
    ...agentOptions([]),
    env: { SERVICE_ALLOW_STDIO_MCP: 'true' },
  });
  const admin = adminOf(server.app);
  const { status, body } = await admin.post('/mcp-servers', {
    name: 'One',
    mcpServer: {
      ...toolsServer('one', { tools: 'repeat,count' }),
      tool_allow_list: ['count'],
      require_approval: ['count'],
    },
  });
  expect(status).toBe(201);
  expect(body.data.mcpServer).toMatchObject({ toolAllowList: ['count'], requireApproval: ['count'] });
  const user = server.client();
  await user.say('hi');
  expect(user.messages.at(-1)?.content).toMatch(/^count count count count count/);
  await admin.patch(`/mcp-servers/${body.data.id}`, { enabled: false });
  expect((await admin.get('/mcp-servers/status')).body).toEqual([]);
  const twice = { name: 'Two', mcpServer: toolsServer('one') };
  await admin.patch(`/mcp-servers/${body.data.id}`, { enabled: true });
  const refused = await admin.post('/mcp-servers', twice);
  expect(refused.status).toBe(422);
  expect(JSON.stringify(refused.body.detail)).toContain('another enabled MCP server has this name');
});
