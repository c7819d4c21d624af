import { parentPort } from 'node:worker_threads';
import { parseDocument } from 'yaml';
import { findAgents } from './source-agents.ts';

/** What the worker is asked to read; it answers with a {@link ParseAnswer}. */
export type ParseRequest = { kind: 'module'; path: string; text: string } | { kind: 'yaml'; text: string };

/** What was read; undefined when the text is broken. */
export interface ParseAnswer {
  value: unknown;
}

/** Bounds what a document can become by repeating its anchors. */
const MAX_ALIASES = 100;

function read(request: ParseRequest): unknown {
  try {
    if (request.kind === 'module') return findAgents(request.path, request.text);
    const document = parseDocument(request.text);
    return document.errors.length > 0 ? undefined : document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch {
    return undefined;
  }
}

parentPort?.on('message', (request: ParseRequest) => {
  parentPort?.postMessage({ value: read(request) } satisfies ParseAnswer);
});
parentPort?.postMessage('ready');
