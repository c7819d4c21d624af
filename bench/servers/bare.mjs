/**
 * The ceiling: a handler that writes the frames of a run with no agent behind it.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import Fastify from 'fastify';
import { createPace, readOrder, token } from '../tokens.mjs';
import { lastText, serveUnderControl } from './control.mjs';

const app = Fastify();

app.post('/agent/run', async (request, reply) => {
  const { threadId, runId, messages } = request.body;
  const { tokens, delayMs } = readOrder(lastText(request.body));
  const messageId = `msg-${randomUUID()}`;
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const write = (event) => raw.write(`data: ${JSON.stringify(event)}\n\n`);

  write({ type: 'RUN_STARTED', threadId, runId });
  write({ type: 'STEP_STARTED', stepName: 'answer' });
  write({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' });
  const pace = createPace(delayMs);
  let content = '';
  for (let n = 0; n < tokens; n++) {
    const pause = pace();
    if (pause !== undefined) await pause;
    const delta = token(n);
    content += delta;
    if (!write({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta })) await once(raw, 'drain');
  }
  write({ type: 'TEXT_MESSAGE_END', messageId });
  write({ type: 'STEP_FINISHED', stepName: 'answer' });
  const conversation = [...messages, { id: messageId, role: 'assistant', content }];
  write({ type: 'STATE_SNAPSHOT', snapshot: { messages: conversation } });
  write({ type: 'MESSAGES_SNAPSHOT', messages: conversation });
  write({ type: 'RUN_FINISHED', threadId, runId, outcome: { type: 'success' } });
  raw.end();
});

await serveUnderControl(app);
