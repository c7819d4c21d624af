import { expect, test } from 'vitest';
import { withAgent } from './support.ts';

test("the secrets among an agent's own settings are masked at any depth, and exported as references", async () => {
  const { admin } = await withAgent();
  const config = {
    agent: {
      type: 'LANGGRAPH',
      config: {
        name: 'desk',
        graph_definition: 'agent.ts:graph',
        settings: {
          api_key: 'S3CRET-1',
          nested: { userToken: 'S3CRET-2' },
          list: [{ password: 'S3CRET-3' }],
          model: 'm1',
        },
      },
    },
  };
  expect((await admin.post('/config/import', { config })).status).toBe(200);
  const settings = { api_key: '***', nested: { userToken: '***' }, list: [{ password: '***' }], model: 'm1' };
  expect((await admin.get('/agent')).body.baseEngineConfig.agent.config.settings).toEqual(settings);
  expect((await admin.get('//agent/config')).body.config.config.settings).toEqual(settings);
  const number = await admin.revision();
  for (const path of ['/config/export', '/config/materialized', `/revisions/${number}`, `/revisions/${number}/diff`]) {
    expect(JSON.stringify((await admin.get(path)).body), path).not.toContain('S3CRET');
  }
});
