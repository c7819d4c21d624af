import { describe, expect, test } from 'vitest';
import { ConnectionCheck } from '../../../src/services/probes/connection-check.ts';
import { probeObservability } from '../../../src/services/probes/observability.ts';
import { closedPort } from '../../support/machine.ts';
import { LOCAL, ref, serve, serveTcp } from './support.ts';

const ok = (details: Record<string, unknown>) => ({ ok: true, details, error: null });
const failed = (error: unknown) => ({ ok: false, details: null, error });
const langfuse = (host: string) => ({ provider: 'LANGFUSE', config: { host, secretKey: 'sk-lf-1234' } });

async function probe(providers: unknown, variables: Record<string, string> = {}) {
  return ConnectionCheck.parse(await probeObservability(providers, { variables, targets: LOCAL }));
}

describe('a provider with an address', () => {
  test('is asked with HEAD, and the connection closed', async () => {
    const seen: string[] = [];
    const { url, open } = await serve((request, response) => {
      seen.push(`${request.method} ${request.url}`);
      response.end();
    });
    for (const [provider, member] of [
      ['LANGFUSE', 'host'],
      ['PHOENIX', 'collectorEndpoint'],
      ['LANGSMITH', 'endpoint'],
      ['OTLP', 'endpoint'],
    ] as const) {
      expect(await probe({ provider, config: { [member]: `${url}/${provider}` } })).toEqual(
        ok({ provider, status: 200, ingest: 200 }),
      );
    }
    expect(seen).toEqual([
      'HEAD /LANGFUSE',
      'POST /LANGFUSE/api/public/otel/v1/traces',
      'HEAD /PHOENIX',
      'POST /PHOENIX/v1/traces',
      'HEAD /LANGSMITH',
      'POST /LANGSMITH/otel/v1/traces',
      'HEAD /OTLP',
      'POST /OTLP/v1/traces',
    ]);
    await expect.poll(() => open.size).toBe(0);
  });

  test.each([
    { head: 405, get: 200, post: 200, check: ok({ provider: 'LANGFUSE', status: 200, ingest: 200 }) },
    { head: 500, get: 404, post: 207, check: ok({ provider: 'LANGFUSE', status: 404, ingest: 207 }) },
    { head: 401, get: 401, post: 202, check: ok({ provider: 'LANGFUSE', status: 401, ingest: 202 }) },
    { head: 404, get: 503, post: 200, check: failed('The server answers with status 503') },
    // The server is there, but no span would get into it.
    { head: 200, get: 200, post: 401, check: failed('The server refuses the credentials (status 401)') },
    { head: 200, get: 200, post: 403, check: failed('The server refuses the credentials (status 403)') },
    { head: 200, get: 200, post: 404, check: failed('The server takes no spans at this address (status 404)') },
    { head: 200, get: 200, post: 302, check: failed('The server redirects (status 302)') },
    { head: 200, get: 200, post: 500, check: failed('The server does not take the spans (status 500)') },
    // Neither refused nor taken: an empty request is not everybody's.
    {
      head: 200,
      get: 200,
      post: 400,
      check: ok({ provider: 'LANGFUSE', status: 200, ingest: 400, note: expect.any(String) }),
    },
  ])('HEAD $head, then GET $get, and POST $post for spans', async ({ head, get, post, check }) => {
    const statuses: Record<string, number> = { HEAD: head, GET: get, POST: post };
    const { url } = await serve((request, response) => {
      response.statusCode = statuses[request.method ?? ''] ?? 500;
      response.end('a body');
    });
    expect(await probe(langfuse(url))).toEqual(check);
  });

  test('a redirect is an answer and is not followed', async () => {
    let followed = 0;
    const other = await serve((_, response) => {
      followed += 1;
      response.end();
    });
    const { url } = await serve((request, response) => {
      if (request.method === 'POST') response.end();
      else response.writeHead(302, { location: other.url }).end();
    });
    expect(await probe(langfuse(url))).toEqual(ok({ provider: 'LANGFUSE', status: 302, ingest: 200 }));
    expect(followed).toBe(0);
  });

  test('an answer without end is not waited for', async () => {
    const { url, open } = await serve((request, response) => {
      response.statusCode = request.method === 'HEAD' ? 405 : 200;
      if (request.method === 'HEAD') response.end();
      else response.write('more to come');
    });
    expect(await probe(langfuse(url))).toEqual(ok({ provider: 'LANGFUSE', status: 200, ingest: 200 }));
    await expect.poll(() => open.size).toBe(0);
  });

  test('a server that says nothing fails within five seconds, and its connection is closed', async () => {
    const { url, open } = await serveTcp();
    const start = performance.now();
    expect(await probe(langfuse(url))).toEqual(failed('No answer within 5 seconds'));
    expect(performance.now() - start).toBeLessThan(5_100);
    await expect.poll(() => open.size).toBe(0);
  });

  test('a TLS handshake that is not answered fails after two seconds', async () => {
    const { url, open } = await serveTcp();
    const start = performance.now();
    expect(await probe(langfuse(url.replace('http:', 'https:')))).toEqual(failed('No connection within 2 seconds'));
    expect(performance.now() - start).toBeLessThan(2_500);
    await expect.poll(() => open.size).toBe(0);
  });

  test('a refused connection, a hang-up, and something that is not HTTP', async () => {
    expect(await probe(langfuse(`http://127.0.0.1:${await closedPort()}`))).toEqual(
      failed('The connection was refused'),
    );
    expect(await probe(langfuse((await serveTcp((socket) => socket.destroy())).url))).toEqual(
      failed('The connection was closed before an answer came'),
    );
    const { url } = await serveTcp((socket) => socket.end('220 mail.example.org ESMTP\r\n'));
    expect(await probe(langfuse(url))).toEqual(failed(expect.stringMatching(/^Parse Error: .+$/)));
  });

  test.each([
    ['', 'host: is not set'],
    ['cloud.langfuse.com', 'config.host: must be an http or https URL'],
    ['ftp://host', 'config.host: must be an http or https URL'],
  ])('the address %j', async (host, error) => {
    expect(await probe(langfuse(host))).toEqual(failed(error));
  });

  test('credentials in an address are sent and not shown', async () => {
    const seen: unknown[] = [];
    const { url } = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(204).end();
    });
    const host = url.replace('//', `//me:${ref('PASSWORD')}@`);
    const variables = { PASSWORD: 'hunter22' };
    expect(await probe(langfuse(host), variables)).toEqual(ok({ provider: 'LANGFUSE', status: 204, ingest: 204 }));
    const basic = (credentials: string) => `Basic ${Buffer.from(credentials).toString('base64')}`;
    // Where spans go the provider's keys count.
    expect(seen).toEqual([basic('me:hunter22'), basic(':sk-lf-1234')]);
    const check = await probe(langfuse('ftp://me:hunter22@host'), variables);
    expect(JSON.stringify(check)).not.toContain('hunter22');
  });
});

describe('without an address', () => {
  test.each(['GCP_LOGGING', 'GCP_TRACE'])('%s needs a project id', async (provider) => {
    expect(await probe({ provider, config: { gcpProjectId: 'p-1' } })).toEqual(
      ok({ provider, note: expect.any(String) }),
    );
    expect(await probe({ provider, config: {} })).toEqual(failed('gcpProjectId: is not set'));
  });

  test('a disabled one is fine, whatever it says', async () => {
    const disabled = { provider: 'PHOENIX', enabled: false, config: { collectorEndpoint: ref('UNSET') } };
    expect(await probe(disabled)).toEqual(ok({ provider: 'PHOENIX', note: expect.any(String) }));
    expect(await probe([disabled])).toEqual(ok({ provider: 'PHOENIX', note: expect.any(String) }));
    expect(await probe([])).toEqual(ok({ provider: null, note: expect.any(String) }));
  });

  test('the first enabled one of a list is checked', async () => {
    const list = [
      { provider: 'PHOENIX', enabled: false, config: { collectorEndpoint: ref('UNSET') } },
      { provider: 'GCP_TRACE', enabled: true, config: { gcpProjectId: 'p-1' } },
      { provider: 'LANGFUSE', enabled: true, config: { host: '' } },
    ];
    expect(await probe(list)).toEqual(ok({ provider: 'GCP_TRACE', note: expect.any(String) }));
  });

  test('a variable that is not set is named', async () => {
    expect(await probe(langfuse(ref('LANGFUSE_HOST')))).toEqual(failed('The variable LANGFUSE_HOST is not set'));
    expect(await probe(langfuse(`${ref('A_HOST')}/${ref('A_PATH')}`))).toEqual(
      failed('The variables A_HOST, A_PATH are not set'),
    );
  });

  test.each([undefined, null, 7, 'LANGFUSE', {}, [null], { provider: 'OTHER', config: {} }])(
    'nonsense: %j',
    async (value) => {
      expect(await probe(value)).toEqual(failed(expect.stringMatching(/^[^\n]+$/)));
    },
  );
});
