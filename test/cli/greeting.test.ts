import { expect, test } from 'vitest';
import { greeting } from '../../src/cli/greeting.ts';

const address = 'http://127.0.0.1:8000';

test('the greeting holds a run to try', () => {
  const text = greeting({ address, agent: 'desk', fault: undefined });
  expect(text).toContain(`The agent "desk" is listening on ${address}`);
  const body = /-d '(.*)'/.exec(text)?.[1] ?? '';
  expect(JSON.parse(body)).toMatchObject({ threadId: 't1', runId: 'r1', messages: [{ role: 'user' }] });
});

test('without an agent the greeting says why and what to do', () => {
  expect(greeting({ address, agent: undefined, fault: undefined })).toContain('agent-engine init my-agent');
  const broken = greeting({ address, agent: undefined, fault: 'Agent module agent.ts does not exist.' });
  expect(broken).toContain('Agent module agent.ts does not exist.');
  expect(broken).toContain(`curl -X POST ${address}/reload`);
});
