import { maskSecrets } from '../masking.ts';
import { CONNECTION_FAULTS } from './fault-words.ts';

/** Why a connection failed, in words of ours that may be shown. */
export class ConnectionFailure extends Error {
  override name = 'ConnectionFailure';
}

/** Longest text that is shown. */
const SHOWN_LENGTH = 300;

/** Longest text that is searched for what it should not show: an upstream may answer with megabytes. */
const READ_LENGTH = 2_000;

/**
 * What an error says, fit to be shown: one line without secrets, stacks and folders.
 *
 * @param secrets texts that must not be in it.
 */
export function tellFailure(error: unknown, secrets: Iterable<string>): string {
  const { message, code } = readError(error);
  const known = Object.keys(CONNECTION_FAULTS).find((name) => code === name || message.includes(name));
  if (known !== undefined) return CONNECTION_FAULTS[known] as string;
  if (error instanceof SyntaxError || /ZodError$/.test(error instanceof Error ? error.name : '')) {
    return 'The answer is not what such a server sends';
  }
  const status = typeof code === 'number' && code >= 100 && code <= 599 && !message.includes(String(code));
  return `${toLine(message, secrets)}${status ? ` (HTTP ${code})` : ''}`;
}

/** The first line of a text, without secrets, markup and folders. */
export function toLine(text: string, secrets: Iterable<string>): string {
  const shown = hideSecrets(text, secrets)
    .replace(/<[^<>]*>/g, ' ')
    .replace(/file:\/\/(?=\/)/g, '')
    .replace(/(?<![\w:/.])(?:[A-Za-z]:)?[\\/](?:[^\s\\/'"():]+[\\/])+([^\s\\/'"():]*)/g, '…/$1');
  const line = shown
    .split(/[\r\n]+/)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
    .map((part) => part.replace(/[\s\u0000-\u001f\u007f]+/g, ' ').trim())
    .find((part) => part !== '');
  if (line === undefined) return 'It failed without saying why';
  return line.length > SHOWN_LENGTH ? `${line.slice(0, SHOWN_LENGTH - 1)}…` : line;
}

/** A text without these secrets, and without credentials in URLs. */
export function hideSecrets(text: string, secrets: Iterable<string>): string {
  let shown = text;
  // Longest first: one secret can be part of another.
  for (const secret of [...secrets].sort((left, right) => right.length - left.length)) {
    shown = shown.replaceAll(secret, '***');
  }
  return maskSecrets(shown.slice(0, READ_LENGTH)) as string;
}

function readError(error: unknown): { message: string; code: unknown } {
  if (!(error instanceof Error)) return { message: '', code: undefined };
  const { code, cause } = error as Error & { code?: unknown };
  // An attempt on several addresses has its reasons inside.
  const inner = cause ?? (error instanceof AggregateError ? error.errors[0] : undefined);
  const nested = inner instanceof Error ? (inner as Error & { code?: unknown }) : undefined;
  return { message: error.message === '' ? (nested?.message ?? '') : error.message, code: code ?? nested?.code };
}
