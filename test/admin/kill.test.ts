import { expect, test } from 'vitest';
import { SQLITE_CONFIG } from '../cli/agents.ts';
import { inTime, type Server, startServer } from '../cli/command.ts';
import { ECHO } from '../support/agents.ts';
import { tempFolder } from '../support/app.ts';
import { randomFrom } from '../support/random.ts';
import { guardrail, type Json } from './support.ts';

/** Rounds in all. Each starts one process, which takes most of its time. */
const ROUNDS = 50;
/** Folders that are worked on at the same time. */
const LANES = 2;
/** Most writes of a round before the one in which, or after which, the server is killed. */
const MOST_WRITES = 10;

/** What is configured, by names and texts that are used once only, since a write in flight has told no id. */
interface Config {
  guardrails: Record<string, Json>;
  prompts: Record<string, Json>;
  description: string | null;
}

/** A write of an admin and what it makes of the configuration. */
interface Write {
  method: string;
  path: string;
  body?: object;
  after: Config;
}

/** What was acknowledged so far, and the write that was sent last and not. */
interface Told {
  config: Config;
  revision: number;
  /** Each revision's configuration; number 0 is not used. */
  history: Config[];
  inFlight: Write | undefined;
}

const get = async (server: Server, path: string): Promise<Json> => (await server.get(`/admin/api/v1${path}`)).body;

function send(server: Server, { method, path, body }: Write): Promise<Response> {
  return fetch(`${server.address}/admin/api/v1${path}`, {
    method,
    ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
}

/** The members that are compared, without the times and without their second spellings. */
const rowOf = ({
  id,
  name,
  enabled,
  position,
  sortOrder,
  guardrail: rail,
  promptId,
  version,
  content,
  tags,
}: Json): Json =>
  name === undefined
    ? { id, promptId, version, content, tags }
    : { id, name, enabled, position, sortOrder, guardrail: rail };

const named = (rows: Json[], key: string): Record<string, Json> =>
  Object.fromEntries(rows.map((row) => [row[key], rowOf(row)]));

/** What a restarted server holds: its rows, which must be what its newest revision says. */
async function held(server: Server): Promise<{ config: Config; revision: number }> {
  const [guardrails, prompts, agent, { items }] = await Promise.all(
    ['/guardrails', '/prompts', '/agent', '/revisions?limit=500'].map((path) => get(server, path)),
  );
  const revision = items[0].number as number;
  expect(items.map((item: Json) => item.number)).toEqual(items.map((_: Json, at: number) => revision - at));
  const { config } = await get(server, `/revisions/${revision}`);
  const rows = {
    guardrails: named(guardrails, 'name'),
    prompts: named(prompts, 'content'),
    description: agent.description,
  };
  expect({
    guardrails: named(config.guardrails, 'name'),
    prompts: named(config.prompts, 'content'),
    description: config.agent[0].description,
  }).toEqual(rows);
  return { config: rows, revision };
}

/** A write that is possible now. @param n makes its names its own. */
function randomWrite({ config, history }: Told, random: () => number, n: number): Write {
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
  const { guardrails, prompts } = config;
  const rail = pick(Object.values(guardrails));
  const prompt = pick(Object.values(prompts));
  const number = 1 + Math.floor(random() * (history.length - 1));
  const railBody = guardrail(`rail ${n}`, [`word${n}`], { enabled: random() < 0.7, sortOrder: n });
  const promptId = pick(['greeting', 'farewell']);
  const version =
    1 +
    Math.max(
      0,
      ...Object.values(prompts)
        .filter((one) => one.promptId === promptId)
        .map((one) => one.version),
    );
  const promptBody = { promptId, content: `text ${n}`, tags: [`tag${n}`] };
  const description = `version ${n}`;
  const creates: Write[] = [
    {
      method: 'POST',
      path: '/guardrails',
      body: railBody,
      after: { ...config, guardrails: { ...guardrails, [railBody.name]: railBody } },
    },
    {
      method: 'POST',
      path: '/prompts',
      body: promptBody,
      after: { ...config, prompts: { ...prompts, [promptBody.content]: { ...promptBody, version } } },
    },
  ];
  const changes: Write[] = [
    { method: 'PATCH', path: '/agent', body: { description }, after: { ...config, description } },
  ];
  if (rail !== undefined) {
    const { [rail.name]: _gone, ...others } = guardrails;
    const path = `/guardrails/${rail.id}`;
    changes.push(
      { method: 'DELETE', path, after: { ...config, guardrails: others } },
      {
        method: 'PATCH',
        path,
        body: { sortOrder: n },
        after: { ...config, guardrails: { ...guardrails, [rail.name]: { ...rail, sortOrder: n } } },
      },
    );
  }
  if (prompt !== undefined) {
    const { [prompt.content]: _gone, ...others } = prompts;
    changes.push({ method: 'DELETE', path: `/prompts/${prompt.id}`, after: { ...config, prompts: others } });
  }
  // Many rows at once.
  const before = history[number];
  if (before !== undefined)
    changes.push({ method: 'POST', path: `/revisions/${number}/restore`, body: {}, after: before });
  return pick(random() < 0.5 ? creates : changes) as Write;
}

/**
 * Sends writes one after another until the server is killed. The moment is counted in writes, the last of which may be
 * a part of one, so that a slow machine is not killed in its first write each time.
 */
async function writeUntilKilled(server: Server, told: Told, random: () => number, next: () => number): Promise<void> {
  const whole = Math.floor(random() * MOST_WRITES);
  let timer: NodeJS.Timeout | undefined;
  let writeMs = 50;
  try {
    for (let count = 0; ; count += 1) {
      if (count === whole) timer = setTimeout(() => server.signal('SIGKILL'), random() * 1.2 * writeMs);
      const begun = performance.now();
      const write = randomWrite(told, random, next());
      told.inFlight = write;
      const response = await send(server, write);
      const { data, ...fault } = (await response.json()) as Json;
      expect([200, 201], JSON.stringify({ ...write, fault })).toContain(response.status);
      writeMs = performance.now() - begun;
      told.inFlight = undefined;
      told.config = write.after;
      // A create tells the id.
      if (write.path === '/guardrails') {
        told.config = { ...write.after, guardrails: { ...write.after.guardrails, [data.name]: rowOf(data) } };
      }
      if (write.path === '/prompts') {
        told.config = { ...write.after, prompts: { ...write.after.prompts, [data.content]: rowOf(data) } };
      }
      told.revision += 1;
      expect(response.headers.get('etag')).toBe(`"${told.revision}"`);
      told.history[told.revision] = told.config;
    }
  } catch (error) {
    // What fetch throws when the connection breaks; everything else is a finding.
    if (!(error instanceof TypeError)) throw error;
  } finally {
    clearTimeout(timer);
  }
  await inTime(server.exited, () => 'the killed server to be gone');
}

/** Checks what a restarted server holds and takes it over. */
async function expectAcknowledged(server: Server, told: Told): Promise<void> {
  const { config, revision } = await held(server);
  if (revision !== told.revision) {
    const write = told.inFlight;
    expect(write, `revision ${revision} instead of ${told.revision}`).toBeDefined();
    expect(revision).toBe(told.revision + 1);
    // Matches also where the write in flight has told no id; nothing may be there that it does not name.
    expect(config).toMatchObject(write?.after ?? {});
    expect(Object.keys(config.guardrails)).toHaveLength(Object.keys(write?.after.guardrails ?? {}).length);
    expect(Object.keys(config.prompts)).toHaveLength(Object.keys(write?.after.prompts ?? {}).length);
  } else expect(config).toEqual(told.config);
  const rails = Object.values(config.guardrails);
  for (const enabled of [true, false]) {
    const rail = rails.find((one) => one.enabled === enabled);
    if (rail === undefined) continue;
    const query = rail.guardrail.banned_words[0] as string;
    const { status } = await server.post('/agent/invoke', { query, session_id: 's' });
    expect(status).toBe(enabled ? 429 : 200);
  }
  Object.assign(told, { config, revision, inFlight: undefined });
  told.history[revision] = config;
}

/** A folder in which a server is killed again and again. @returns how many writes were sent. */
async function lane(seed: number, rounds: number): Promise<number> {
  const random = randomFrom(seed);
  const cwd = tempFolder({ 'agent.ts': ECHO, 'config.yaml': SQLITE_CONFIG });
  const told: Told = {
    config: { guardrails: {}, prompts: {}, description: null },
    revision: 0,
    history: [],
    inFlight: undefined,
  };
  let n = 0;
  for (let round = 0; round <= rounds; round += 1) {
    const server = await startServer(['serve'], { cwd });
    if (round === 0) Object.assign(told, await held(server));
    told.history[told.revision] ??= told.config;
    await expectAcknowledged(server, told);
    if (round < rounds) await writeUntilKilled(server, told, random, () => ++n);
  }
  return n;
}

test(`kill -9 in a stream of admin writes, ${ROUNDS} times: exactly the acknowledged ones are there`, async () => {
  const writes = await Promise.all(Array.from({ length: LANES }, (_, at) => lane(at + 1, ROUNDS / LANES)));
  expect(writes.reduce((sum, sent) => sum + sent)).toBeGreaterThan(2 * ROUNDS);
}, 180_000);
