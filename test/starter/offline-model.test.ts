import { type AIMessageChunk, HumanMessage } from '@langchain/core/messages';
import { describe, expect, it, vi } from 'vitest';
import { OfflineModel } from '../../src/starter/offline-model.ts';
import { startConversation } from './starter.ts';

vi.mock('agent-engine-server/agent', () => import('../../src/agent.ts'));

const calculate = { type: 'function', function: { name: 'calculate', description: 'Sums', parameters: {} } };
const clock = { type: 'function', function: { name: 'current_time', description: 'Clock', parameters: {} } };

describe('the offline model', () => {
  it('streams words under one id and ends with its usage', async () => {
    const chunks: AIMessageChunk[] = [];
    for await (const chunk of await new OfflineModel({ delayMs: 0 }).stream('Hello')) chunks.push(chunk);
    expect(chunks.length).toBeGreaterThan(50);
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
    expect(chunks.every((chunk) => chunk.text.trim().split(/\s/).length === 1)).toBe(true);
    expect(chunks.at(-1)).toMatchObject({
      usage_metadata: { input_tokens: 2, output_tokens: expect.any(Number) },
      response_metadata: { model_name: 'offline-demo', finish_reason: 'stop' },
    });
    expect(chunks.map((chunk) => chunk.text).join('')).toBe(
      (await new OfflineModel({ delayMs: 0 }).invoke('Hello')).text,
    );
  });

  it('streams parallel tool calls the way a provider does', async () => {
    const bound = new OfflineModel({ delayMs: 0 }).bindTools([calculate, clock]);
    const parts = [];
    let whole: AIMessageChunk | undefined;
    for await (const chunk of await bound.stream('What time is it in Tokyo and what is 1234567 * 7654321?')) {
      parts.push(...(chunk.tool_call_chunks ?? []));
      whole = whole?.concat(chunk) ?? chunk;
    }
    expect(parts.filter((part) => part.name !== undefined).map(({ name, index }) => ({ name, index }))).toEqual([
      { name: 'current_time', index: 0 },
      { name: 'calculate', index: 1 },
    ]);
    expect(parts.filter((part) => part.index === 1).length).toBeGreaterThan(3);
    expect(whole?.tool_calls).toMatchObject([
      { name: 'current_time', args: { timeZone: 'Asia/Tokyo' } },
      { name: 'calculate', args: { expression: '1234567 * 7654321' } },
    ]);
    expect(whole?.response_metadata.finish_reason).toBe('tool_calls');
  });

  it('calls only tools it was given', async () => {
    const message = await new OfflineModel({ delayMs: 0 }).invoke('What is 2+2?');
    expect(message.tool_calls).toEqual([]);
    expect(message.text).toMatch(/no rule/);
  });

  it('tells tracers what it is', () => {
    expect(new OfflineModel().getLsParams({} as never)).toMatchObject({
      ls_provider: 'offline',
      ls_model_name: 'offline-demo',
    });
  });

  it('stops at once when aborted during a pause', async () => {
    const abort = new AbortController();
    const model = new OfflineModel({ delayMs: 3_600_000 });
    const first = model._streamResponseChunks([new HumanMessage('Hello')], { signal: abort.signal }).next();
    abort.abort();
    await expect(first).rejects.toThrow(/abort/i);
  });
});

describe('the compiled graph', () => {
  it('shows every word in the messages stream', async () => {
    const { compiled, config } = startConversation();
    const words: string[] = [];
    const stream = await compiled.stream(
      { messages: [new HumanMessage('Hello')] },
      { ...config, streamMode: 'messages' as const },
    );
    for await (const [chunk] of stream) words.push(chunk.text);
    expect(words.length).toBeGreaterThan(50);
  });

  it('stops within one word when a run is cancelled', async () => {
    const { compiled, config } = startConversation();
    const abort = new AbortController();
    let words = 0;
    const listener = {
      handleLLMNewToken() {
        words += 1;
        if (words === 5) abort.abort();
      },
      lc_prefer_streaming: true,
      awaitHandlers: true,
      name: 'listener',
    };
    const options = { ...config, signal: abort.signal, callbacks: [listener] };
    await expect(compiled.invoke({ messages: [new HumanMessage('Hello')] }, options)).rejects.toThrow(/abort/i);
    const stopped = words;
    await new Promise(setImmediate);
    expect({ stopped, words }).toEqual({ stopped: 5, words: 5 });
    expect((await compiled.getState(config)).next).toEqual(['agent']);
  });
});
