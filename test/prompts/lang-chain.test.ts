import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { createTestApp, tempFolder, writeFiles } from '../support/app.ts';
import { GRAPH_FILES, IMPORTS } from '../support/graphs.ts';
import { installCopies } from '../support/own-packages.ts';
import { runEvents, runInput, textOf } from '../support/runs.ts';

const CONFIG = `
agent: { type: LANGGRAPH, config: { name: a, graph_definition: './agent.ts:graph' } }
prompts:
  - { prompt_id: greet, version: 1, content: 'Greet {{ user }}{% if formal %}, formally{% endif %}.' }
  - { prompt_id: list, version: 1, content: '{% for x in items %}{{ loop.index }}. {{ x }} {% endfor %}{{ note | default: "" }}' }`;

/** A model that answers with what it was asked, message by message. */
const TOP = `${IMPORTS}
import {
  BaseChatPromptTemplate, BasePromptTemplate, BaseStringPromptTemplate, ChatPromptTemplate, MessagesPlaceholder,
  SystemMessagePromptTemplate,
} from '@langchain/core/prompts';
import { StringOutputParser } from '@langchain/core/output_parsers';
import { RunnableSequence } from '@langchain/core/runnables';
import { createRequire } from 'node:module';
import { getPrompt } from 'agent-engine-server/agent';
const tell = (messages) => [messages.map((m) => m.constructor.name + '<' + m.content + '>').join(' ')];
const model = new ScriptedModel([tell]);
const collect = async (stream) => { let all = ''; for await (const chunk of stream) all += chunk.content; return all; };
const attempt = async (work) => { try { return await work(); } catch (error) { return error.name + ': ' + error.message; } };
const answerWith = (work) => new StateGraph(MessagesAnnotation)
  .addNode('work', async (state, config) => ({ messages: [new AIMessage({ content: JSON.stringify(await work(state, config)) ?? 'undefined', name: 'told' })] }))
  .addEdge(START, 'work').addEdge('work', END);
// As the module loads.
const greet = getPrompt('greet');
const atLoad = greet.toChatPromptTemplate();
`;

async function said(source: string, root = tempFolder()): Promise<unknown> {
  writeFiles(root, { ...GRAPH_FILES, 'agent.ts': `${TOP}\n${source}`, 'config.yaml': CONFIG });
  const { app } = await createTestApp({ root });
  const events = await runEvents(app, runInput('hi there'));
  const messages = events.find(({ type }) => type === 'MESSAGES_SNAPSHOT')?.messages as { content: string }[];
  return JSON.parse(messages.at(-1)?.content ?? 'null');
}

const CHAINS = `
export const graph = answerWith(async (state, config) => {
  const text = new StringOutputParser();
  const values = { user: 'Ann', formal: true };
  const list = getPrompt('list').toPromptTemplate();
  return {
    text: await greet.toPromptTemplate().pipe(model).pipe(text).invoke(values, config),
    chat: await atLoad.pipe(model).pipe(text).invoke({ ...values, messages: state.messages }, config),
    human: await greet.toChatPromptTemplate({ role: 'human', messages: 'history' }).pipe(model).pipe(text).invoke({ ...values, history: [new AIMessage('before')] }),
    alone: await greet.toChatPromptTemplate({ role: 'ai', messages: false }).pipe(model).pipe(text).invoke({ ...values, messages: ['ignored'] }),
    sequence: await RunnableSequence.from([list, model, text]).invoke({ items: ['x', 'y'] }),
    streamed: await collect(await list.pipe(model).stream({ items: ['x'] })),
    batch: await list.batch([{ items: ['x'] }, { items: [] }]).then((all) => all.map(({ value }) => value)),
    partial: (await (await greet.toPromptTemplate().partial({ formal: false })).invoke({ user: 'Bo' })).value,
    partialChat: tell((await (await atLoad.partial({ formal: false, user: 'Cy' })).invoke({ messages: [] })).toChatMessages())[0],
    format: [await list.format({ items: ['z'] }), await atLoad.format(values)],
    composed: await ChatPromptTemplate.fromMessages([
      new SystemMessagePromptTemplate(greet.toPromptTemplate()), new MessagesPlaceholder('messages'),
    ]).pipe(model).pipe(text).invoke({ ...values, messages: [['user', 'Hello?']] }),
    inputs: [list.inputVariables, atLoad.inputVariables],
    kinds: [
      list instanceof BaseStringPromptTemplate, atLoad instanceof BaseChatPromptTemplate, atLoad instanceof BasePromptTemplate,
      (await atLoad.formatMessages(values))[0] instanceof SystemMessage,
    ],
    missing: [
      await attempt(() => atLoad.pipe(model).invoke({ user: 'Ann' })),
      await attempt(() => greet.toPromptTemplate().invoke({ formal: true })),
    ],
  };
});`;

const EXPECTED = {
  text: 'HumanMessage<Greet Ann, formally.>',
  chat: 'SystemMessage<Greet Ann, formally.> HumanMessage<hi there>',
  human: 'HumanMessage<Greet Ann, formally.> AIMessage<before>',
  alone: 'AIMessage<Greet Ann, formally.>',
  sequence: 'HumanMessage<1. x 2. y >',
  streamed: 'HumanMessage<1. x >',
  batch: ['1. x ', ''],
  partial: 'Greet Bo.',
  partialChat: 'SystemMessage<Greet Cy.>',
  format: ['1. z ', expect.stringContaining('Greet Ann, formally.')],
  composed: 'SystemMessage<Greet Ann, formally.> HumanMessage<Hello?>',
  inputs: [
    ['items', 'note'],
    ['user', 'formal'],
  ],
  kinds: [true, true, true, true],
  missing: [
    'PromptError: Prompt greet v1 needs a value for "formal"',
    'PromptError: Prompt greet v1 needs a value for "user"',
  ],
};

test('a prompt becomes a LangChain template that can be piped, composed, streamed and batched', async () => {
  expect(await said(CHAINS)).toEqual(EXPECTED);
});

test('so it does for an agent with a LangChain of its own', async () => {
  const root = tempFolder();
  writeFiles(root, { 'package.json': '{"type":"module"}' });
  installCopies(root, ['@langchain/langgraph', '@langchain/core', 'zod']);
  expect(createRequire(`${root}/agent.ts`).resolve('@langchain/core/prompts').startsWith(root)).toBe(true);
  expect(await said(CHAINS, root)).toEqual(EXPECTED);
});

test('in a graph the model behind a template streams to the client', async () => {
  const source = `
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async (state, config) => ({
    messages: [await atLoad.pipe(model).invoke({ user: 'Ann', formal: false, messages: state.messages }, config)],
  }))
  .addEdge(START, 'model').addEdge('model', END);`;
  const { app } = await createTestApp({ files: { ...GRAPH_FILES, 'agent.ts': TOP + source, 'config.yaml': CONFIG } });
  expect(textOf(await runEvents(app, runInput('hi there')))).toBe('SystemMessage<Greet Ann.> HumanMessage<hi there>');
});

test('createAgent of langchain takes one for its instructions', async () => {
  const source = `
import { createAgent, dynamicSystemPromptMiddleware } from 'langchain';
export const graph = createAgent({
  model, tools: [],
  middleware: [dynamicSystemPromptMiddleware(() => getPrompt('greet').format({ user: 'Di', formal: true }))],
});`;
  const { app } = await createTestApp({ files: { ...GRAPH_FILES, 'agent.ts': TOP + source, 'config.yaml': CONFIG } });
  expect(textOf(await runEvents(app, runInput('hi there')))).toBe(
    'SystemMessage<Greet Di, formally.> HumanMessage<hi there>',
  );
});
