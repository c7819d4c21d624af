import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { BCRYPT_COST } from './password-rules.ts';

/** Hashes passwords and checks them, in a thread of its own: one takes a quarter of a second of a processor. */
export interface Passwords {
  hash(password: string): Promise<string>;
  /** An empty password never matches. */
  matches(password: string, hash: string): Promise<boolean>;
  /** How many wait for an answer. */
  readonly waiting: number;
  close(): Promise<void>;
}

type Task = { password: string; hash: string } | { password: string; cost: number };

/** Plain text, so that it needs no file of its own and runs the same from source. */
const WORKER = `
const { parentPort, workerData } = require('node:worker_threads');
const { compareSync, hashSync } = require('node:module').createRequire(workerData)('bcryptjs');
parentPort.on('message', ({ id, password, hash, cost }) => {
  try {
    parentPort.postMessage({ id, value: hash === undefined ? hashSync(password, cost) : compareSync(password, hash) });
  } catch (error) {
    parentPort.postMessage({ id, error: String(error) });
  }
});
`;

/** Makes the thread at the first question, and anew should it end. */
export function createPasswords(): Passwords {
  const open = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  let worker: Worker | undefined;
  let count = 0;

  const fail = (error: Error): void => {
    worker = undefined;
    for (const { reject } of open.values()) reject(error);
    open.clear();
  };

  const start = (): Worker => {
    const started = new Worker(WORKER, {
      eval: true,
      execArgv: [],
      workerData: createRequire(import.meta.url).resolve('bcryptjs'),
    });
    started.on('message', ({ id, value, error }: { id: number; value: unknown; error?: string }) => {
      const question = open.get(id);
      open.delete(id);
      if (error === undefined) question?.resolve(value);
      else question?.reject(new Error(error));
      if (open.size === 0) started.unref();
    });
    started.on('error', fail);
    started.on('exit', () => {
      if (worker === started) fail(new Error('the password thread has ended'));
    });
    return started;
  };

  const ask = (task: Task): Promise<unknown> =>
    new Promise((resolve, reject) => {
      worker ??= start();
      worker.ref();
      count += 1;
      open.set(count, { resolve, reject });
      worker.postMessage({ id: count, ...task });
    });

  return {
    hash: (password) => ask({ password, cost: BCRYPT_COST }) as Promise<string>,
    matches: async (password, hash) => password !== '' && ((await ask({ password, hash })) as boolean),
    get waiting() {
      return open.size;
    },
    async close() {
      const stopped = worker;
      fail(new Error('the server is closing'));
      await stopped?.terminate();
    },
  };
}
