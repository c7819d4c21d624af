import { randomUUID } from 'node:crypto';
import { RunAgentInputSchema } from '@ag-ui/core/schemas';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { isRecord } from '../engine/encode.ts';
import { MINTED_ID } from '../engine/events.ts';

/** Body of `POST /agent/run`: AG-UI's RunAgentInput with ids that are not empty. */
export const RunAgentInput = RunAgentInputSchema.extend({
  threadId: z.string().min(1).max(512),
  runId: z.string().min(1).max(512),
}).meta({ id: 'RunAgentInput' });

/** Examples for the OpenAPI document; zod leaves them out of an input schema that fills in defaults. */
export const RUN_INPUT_EXAMPLES = [
  { threadId: 'th-1', runId: 'run-1', messages: [{ id: 'u1', role: 'user', content: 'Hello' }] },
];

/** Hook that runs {@link normaliseRunInput} before a run's body is checked. */
export async function normaliseRunBody(request: FastifyRequest): Promise<void> {
  request.body = normaliseRunInput(request.body);
}

/**
 * Brings a run's body into AG-UI's spelling before it is checked: snake_case members, members that are null where
 * they should be absent, messages without an id, and user parts of the older `binary` kind (runtime contract,
 * section 2). Anything of another shape is left for the check to reject.
 */
function normaliseRunInput(body: unknown): unknown {
  if (!isRecord(body)) return body;
  const input = tidy(body);
  if (Array.isArray(input.messages)) input.messages = input.messages.map(normaliseMessage);
  if (Array.isArray(input.resume)) input.resume = input.resume.map((entry) => (isRecord(entry) ? tidy(entry) : entry));
  return input;
}

function normaliseMessage(message: unknown): unknown {
  if (!isRecord(message)) return message;
  const tidied = tidy(message);
  tidied.id ??= `${MINTED_ID}${randomUUID()}`;
  if (Array.isArray(tidied.content)) tidied.content = tidied.content.map(upgradePart);
  if (Array.isArray(tidied.toolCalls))
    tidied.toolCalls = tidied.toolCalls.map((call) => (isRecord(call) ? tidy(call) : call));
  return tidied;
}

/** A shallow copy with camelCase members and without those that are null. */
function tidy(record: Record<string, unknown>): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(record)) {
    const value = record[key];
    if (value === null || key === '__proto__') continue;
    const camel = key.includes('_') ? key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) : key;
    // The proper spelling wins where both are given.
    if (camel === key || !(camel in record)) copy[camel] = value;
  }
  return copy;
}

function upgradePart(part: unknown): unknown {
  if (!isRecord(part) || part.type !== 'binary') return isRecord(part) ? tidy(part) : part;
  const { mimeType, url, data, id, filename } = tidy(part);
  const kind = String(mimeType).split('/')[0] ?? '';
  const type = ['image', 'audio', 'video'].includes(kind) ? kind : 'document';
  const source =
    typeof data === 'string'
      ? { type: 'data', value: data, mimeType }
      : typeof url === 'string'
        ? { type: 'url', value: url, mimeType }
        : { type: 'file', value: id, mimeType };
  return { type, source, ...(typeof filename === 'string' && { metadata: { filename } }) };
}
