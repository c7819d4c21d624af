import { expect, onTestFinished, test, vi } from 'vitest';
import { currentAgentScope } from '../../src/engine/agent-scope.ts';
import { createTestApp } from '../support/app.ts';
import { runEvents, runInput, textOf } from '../support/runs.ts';

test('an agent’s module, what it imports and its factory know what they are built into', async () => {
  const seen: Record<string, unknown> = {};
  vi.stubGlobal('look', (place: string) => {
    seen[place] = currentAgentScope()?.prompts.get('greet')?.content;
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  const { app } = await createTestApp({
    files: {
      'config.yaml': `
agent: { type: LANGGRAPH, config: { name: a, graph_definition: './agent.ts:graph' } }
prompts: [{ prompt_id: greet, version: 1, content: Hello }]`,
      'agent.ts': `
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
import { word } from './word.ts';
globalThis.look('module');
await new Promise((resolve) => setTimeout(resolve, 1));
globalThis.look('module after an await');
export async function graph() {
  globalThis.look('factory');
  await import('node:fs/promises').then((fs) => fs.stat('.'));
  globalThis.look('factory after an await');
  return new StateGraph(MessagesAnnotation)
    .addNode('work', () => ({ messages: [new AIMessage(word)] })).addEdge(START, 'work').addEdge('work', END);
}`,
      'word.ts': `
globalThis.look('imported module');
await new Promise((resolve) => setTimeout(resolve, 1));
globalThis.look('imported module after an await');
export const word = 'done';`,
    },
  });
  expect(textOf(await runEvents(app, runInput('hi')))).toBe('done');
  expect(seen).toEqual({
    module: 'Hello',
    'module after an await': 'Hello',
    factory: 'Hello',
    'factory after an await': 'Hello',
    'imported module': 'Hello',
    'imported module after an await': 'Hello',
  });
  expect(currentAgentScope()).toBeUndefined();
});
