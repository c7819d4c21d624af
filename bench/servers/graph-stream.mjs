/**
 * What one writes oneself: Fastify over `graph.stream` in `messages` mode, with the same SQLite memory as ours and
 * the same text events. No index of threads, no validation, no snapshots.
 *
 * @module
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { HumanMessage } from '@langchain/core/messages';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import Fastify from 'fastify';
import { graph } from '../graph.mjs';
import { lastText, serveUnderControl } from './control.mjs';

const [, , folder, dist] = process.argv;
// The server's own way of opening a file: the driver this Node needs, and the same pragmas.
const { openSqlite } = await import(`${dist}/sqlite-driver.js`);
const agent = graph.compile({ checkpointer: new SqliteSaver(await openSqlite(join(folder, 'conversations.db'))) });
const app = Fastify();

app.post('/agent/run', async (request, reply) => {
  const { threadId, runId } = request.body;
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const write = (event) => raw.write(`data: ${JSON.stringify(event)}\n\n`);

  write({ type: 'RUN_STARTED', threadId, runId });
  const stream = await agent.stream(
    { messages: [new HumanMessage(lastText(request.body))] },
    { configurable: { thread_id: threadId }, streamMode: 'messages' },
  );
  let messageId;
  for await (const [message] of stream) {
    if (messageId === undefined) {
      messageId = message.id;
      write({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' });
    }
    if (!write({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta: message.content })) await once(raw, 'drain');
  }
  write({ type: 'TEXT_MESSAGE_END', messageId });
  write({ type: 'RUN_FINISHED', threadId, runId });
  raw.end();
});
app.get('/health', async () => ({ status: 'ok' }));

await serveUnderControl(app);
