import { expect, test } from 'vitest';
import { stage } from '../support/client.ts';
import { EVERYTHING, startEverything, TOOL_CALLER } from '../support/mcp.ts';
import { agentOptions, textsOf } from './support.ts';

async function serverOver(transport: string): Promise<object> {
  if (transport === 'stdio') return { name: 'every', transport, command: process.execPath, args: [EVERYTHING] };
  const { url } = await startEverything(transport === 'sse' ? 'sse' : 'streamableHttp');
  return { name: 'every', transport, url: `${url}/${transport === 'sse' ? 'sse' : 'mcp'}` };
}

test.each(['stdio', 'sse', 'streamable_http'])('an agent calls tools over %s', async (transport) => {
  const server = await stage(TOOL_CALLER, agentOptions([await serverOver(transport)]));
  const run = await server.client().say('echo {"message":"hello"}\nget-sum {"a":2,"b":3}');
  expect(textsOf(run)).toMatch(/done/);
});
