import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startContender } from './contender.mjs';
import { median } from './stats.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Measures the time from the start of the process to the first healthy answer, and the memory of the idle server: the
 * starter as `npm start` serves it, and beside it the hand-written server, which imports little more than LangGraph.
 *
 * @param options.idleSeconds how long a server rests before its memory is read. It takes Node 22 and 24 about half a
 *   minute to give back what loading the modules took.
 * @returns {Promise<{ label: string, bootMs: number, rssMb: number, idleSeconds: number }[]>}
 */
export async function measureBoot({ dist, times, idleSeconds }) {
  const folder = mkdtempSync(join(tmpdir(), 'bench-boot-'));
  const kinds = [
    { label: 'graph.stream', start: () => startHandWritten(dist), times: [] },
    { label: 'ours', start: () => startStarter(dist, folder), times: [] },
  ];
  try {
    // The first start of each finds nothing in the caches of the system and of the server, and does not count.
    for (let time = 0; time <= times; time++) {
      for (const kind of kinds) {
        const server = await timed(kind.start);
        await server.stop();
        if (time > 0) kind.times.push(server.bootMs);
      }
    }
    const idle = await Promise.all(kinds.map(({ start }) => start()));
    await sleep(idleSeconds * 1000);
    const rss = idle.map(({ pid }) => rssMb(pid));
    await Promise.all(idle.map((server) => server.stop()));
    return kinds.map((kind, n) => ({ label: kind.label, bootMs: median(kind.times), rssMb: rss[n], idleSeconds }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function timed(start) {
  const startedAt = performance.now();
  const server = await start();
  await untilHealthy(server.url);
  return { ...server, bootMs: performance.now() - startedAt };
}

async function startStarter(dist, folder) {
  // The starter's own configuration, less its memory: the conversations of whoever runs this stay as they are.
  const config = readFileSync(join(ROOT, 'src/starter/config.yaml'), 'utf8');
  writeFileSync(join(folder, 'config.yaml'), config.replace('sqlite:///./data', `sqlite:///${folder}`));
  const main = fileURLToPath(new URL('main.js', `${dist}/`));
  const child = spawn(process.execPath, [main, 'serve', '--config', join(folder, 'config.yaml'), '--port', '0'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, DATABASE_URL: `sqlite:///${folder}/service.db` },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const gone = once(child, 'exit');
  const stop = async () => {
    child.kill();
    await gone;
  };
  return { url: await listeningAt(child.stdout), pid: child.pid, stop };
}

async function startHandWritten(dist) {
  const contender = await startContender('graph-stream', { dist });
  return { url: `http://127.0.0.1:${contender.port}`, pid: contender.pid, stop: () => contender.stop() };
}

async function listeningAt(stdout) {
  for await (const line of createInterface({ input: stdout })) {
    const url = /listening at (http:\/\/[\d.:]+)/.exec(line)?.[1];
    if (url !== undefined) {
      stdout.resume();
      return url;
    }
  }
  throw new Error('the server has ended before it listened');
}

async function untilHealthy(url) {
  const [response] = await once(get(`${url}/health`, { agent: false }), 'response');
  const body = JSON.parse(Buffer.concat(await response.toArray()).toString());
  if (body.status !== 'ok') throw new Error(`the server is not healthy: ${body.reason}`);
}

function rssMb(pid) {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024;
}
