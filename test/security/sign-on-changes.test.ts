import { expect, test } from 'vitest';
import { createTestApp } from '../support/app.ts';
import { createGate, gatedAgent, until } from '../support/gates.ts';
import { startOidcProvider } from '../support/oidc.ts';
import { runInput, textOf } from '../support/runs.ts';
import { openRun } from '../support/streams.ts';
import { API, HOST } from './support.ts';

/** A server nobody has to sign on to yet, and its admin's way to change that. */
async function server() {
  const provider = await startOidcProvider();
  const { app, listen } = await createTestApp({ files: { 'agent.ts': gatedAgent('v1') }, agent: 'agent.ts' });
  const rules = async (more: object): Promise<void> => {
    const sso = { enabled: true, issuer: provider.issuer, clientId: 'agent', ...more };
    const answer = await app.inject({
      method: 'PATCH',
      url: `${API}/sso`,
      headers: { host: HOST },
      payload: { sso },
    });
    expect(answer.statusCode, answer.body).toBe(200);
  };
  const as = async (email: string) => ({ authorization: `Bearer ${await provider.token({ email })}` });
  return { app, base: await listen(), rules, as };
}

test('a run that was let in before sign-on is switched on goes on to its end; the next one needs a token', async () => {
  const { app, base, rules, as } = await server();
  const gate = createGate();
  const input = runInput(gate.name);
  const stream = await openRun(base, input);
  await until(() => gate.arrived === 1);
  await rules({});
  expect((await openRun(base, runInput('next'))).status).toBe(401);
  const events = `/agent/runs/${input.runId}/events`;
  expect((await app.inject({ url: events })).statusCode).toBe(401);
  // Nobody's thread becomes the thread of whoever comes with a token.
  expect((await app.inject({ url: events, headers: await as('ana@example.org') })).statusCode).toBe(404);
  gate.open();
  expect(textOf(await stream.all())).toBe(`v1: ${gate.name}`);
});

test('a run goes on when its user is no longer admitted; all the user asks for next is refused', async () => {
  const { app, base, rules, as } = await server();
  await rules({});
  const ana = await as('ana@example.org');
  const gate = createGate();
  const input = runInput(gate.name);
  const stream = await openRun(base, input, ana);
  await until(() => gate.arrived === 1);
  await rules({ allowedEmails: ['bob@example.org'] });
  expect((await openRun(base, runInput('next'), ana)).status).toBe(401);
  expect((await app.inject({ url: '/agent/sessions', headers: ana })).statusCode).toBe(401);
  gate.open();
  expect(textOf(await stream.all())).toBe(`v1: ${gate.name}`);
  expect((await openRun(base, runInput('his'), await as('bob@example.org'))).status).toBe(200);
});

test('while it is not known who may call, nobody may', async () => {
  const { app } = await createTestApp({ files: { 'config.yaml': 'agent: {' } });
  for (const url of ['/agent/sessions', '/agent/config']) {
    const answer = await app.inject({ url, headers: { host: HOST } });
    expect(answer.statusCode, url).toBe(503);
  }
});
