import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { hash } from 'bcryptjs';
import {
  BCRYPT_COST,
  MAX_PASSWORD_BYTES,
  MIN_PASSWORD_CHARACTERS,
  passwordFault,
} from '../services/access/password-rules.ts';
import { Fault } from './fault.ts';

/** Streams a command talks through; the process's own unless a test gives others. */
export interface Terminal {
  input: NodeJS.ReadableStream & { isTTY?: boolean };
  /** Prompts go here, so that standard output holds the hash and nothing else. */
  prompts: NodeJS.WritableStream;
}

/**
 * Gives the bcrypt hash of a password: of `given`, else of what is typed twice at a terminal, else of the first line
 * of standard input.
 *
 * @throws Fault when there is no usable password.
 */
export async function hashPassword(
  given: string | undefined,
  terminal: Terminal = { input: process.stdin, prompts: process.stderr },
): Promise<string> {
  const password =
    given ?? (terminal.input.isTTY === true ? await askTwice(terminal) : await firstLine(terminal.input));
  const fault = passwordFault(password);
  if (fault === 'short') {
    throw new Fault([`The password is too short: it must have at least ${MIN_PASSWORD_CHARACTERS} characters.`]);
  }
  if (fault === 'long') {
    throw new Fault([
      `The password is too long: at most ${MAX_PASSWORD_BYTES} bytes count (letters with accents take two or more).`,
    ]);
  }
  return hash(password, BCRYPT_COST);
}

async function firstLine(input: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  input.setEncoding('utf8');
  for await (const chunk of input) {
    text += String(chunk);
    if (text.includes('\n')) break;
  }
  return text.split(/\r?\n/)[0] ?? '';
}

async function askTwice({ input, prompts }: Terminal): Promise<string> {
  // A line editor that writes into the void: nothing of what is typed shows.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: nowhere, terminal: true, historySize: 0 });
  lines.on('SIGINT', () => lines.close());
  const closed = new Promise<never>((_, reject) => lines.on('close', reject));
  const ask = async (prompt: string): Promise<string> => {
    // Asked before it is shown, so that nothing typed at once is lost.
    const answer = Promise.race([lines.question(''), closed]);
    prompts.write(prompt);
    try {
      return await answer;
    } catch {
      throw new Fault(['Cancelled: there is no password to hash.']);
    } finally {
      prompts.write('\n');
    }
  };
  try {
    const first = await ask('Password: ');
    if (first !== (await ask('The same again: ')))
      throw new Fault(['The two passwords differ. Run the command again.']);
    return first;
  } finally {
    // Closing from here on is no cancellation.
    closed.catch(() => undefined);
    lines.close();
  }
}
