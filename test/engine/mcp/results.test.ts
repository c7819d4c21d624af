import { describe, expect, test } from 'vitest';
import { boundEvents } from '../../../src/engine/mcp/event-bound.ts';
import { createMadeCalls } from '../../../src/engine/mcp/made-calls.ts';
import { readResult } from '../../../src/engine/mcp/result.ts';
import { createStderrLog } from '../../../src/engine/mcp/stderr-log.ts';
import { completeSchema } from '../../../src/engine/mcp/tool-schema.ts';

describe('a result', () => {
  test('media stay media, also inside of resources', () => {
    const { parts } = readResult({
      content: [
        { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' },
        { type: 'resource', resource: { uri: 'file:///a.png', mimeType: 'image/png', blob: 'iVBORw==' } },
      ],
    });
    expect(parts).toEqual([
      { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' },
      { type: 'image', data: 'iVBORw==', mimeType: 'image/png' },
    ]);
  });

  test('other files are told of, and kept for code', () => {
    const file = { uri: 'file:///a.zip', mimeType: 'application/zip', blob: 'UEsDBA==' };
    const { parts, artifact } = readResult({ content: [{ type: 'resource', resource: file }] });
    expect(parts).toEqual([{ type: 'text', text: '[The file file:///a.zip: application/zip, 6 bytes]' }]);
    expect(artifact).toEqual([{ type: 'resource', resource: file }]);
  });

  test('data without a text are told as JSON, and only then', () => {
    const data = { city: 'Lyon' };
    const bare = readResult({ content: [], structuredContent: data });
    expect(bare.parts).toEqual([{ type: 'text', text: '{"city":"Lyon"}' }]);
    expect(bare.artifact).toEqual([{ type: 'structured_content', data }]);
    const told = readResult({ content: [{ type: 'text', text: 'It is Lyon.' }], structuredContent: data });
    expect(told.parts).toEqual([{ type: 'text', text: 'It is Lyon.' }]);
  });

  test('nothing is nothing', () => {
    expect(readResult({ content: [] })).toMatchObject({ parts: [], isError: false });
  });
});

test('every array of a schema says what it holds', () => {
  const schema = {
    type: 'object',
    properties: {
      bare: { type: 'array' },
      some: { type: ['array', 'null'], default: { type: 'array' } },
      pair: { type: 'array', prefixItems: [{ type: 'array' }] },
      deep: { anyOf: [{ type: 'array', items: { type: 'array' } }] },
    },
  };
  const text = { type: 'string' };
  expect(completeSchema(schema).properties).toEqual({
    bare: { type: 'array', items: text },
    some: { type: ['array', 'null'], default: { type: 'array' }, items: text },
    pair: { type: 'array', prefixItems: [{ type: 'array', items: text }] },
    deep: { anyOf: [{ type: 'array', items: { type: 'array', items: text } }] },
  });
});

describe('an event stream', () => {
  const read = (chunks: string[], maxBytes: number): Promise<string> => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
        controller.close();
      },
    });
    return boundEvents(new Response(body), maxBytes).text();
  };

  test('may be as long as it likes', async () => {
    const event = 'data: 1234567890\n\n';
    expect(await read(Array(100).fill(event), 20)).toHaveLength(100 * event.length);
    expect(await read(['data: 1234\r\n', '\r\ndata: 1234\r', '\n\r\ndata: 1234'], 20)).toContain('1234');
  });

  test('of which one event is too long breaks off', async () => {
    await expect(read(['data: 1\n\n', 'data: 1234567890', '1234567890\n', '12'], 20)).rejects.toThrow('too long');
  });
});

test('a program’s lines are logged whole, without secrets, and not without end', () => {
  const lines: string[] = [];
  const log = createStderrLog(['sk-123456'], (line) => lines.push(line));
  for (const piece of ['the key is sk-1', '23456\nand', ' more\r\n\n', 'x'.repeat(5_000), '\n']) log(piece);
  expect(lines).toEqual(['the key is ***', 'and more', 'x'.repeat(2_000)]);
  log('again\n'.repeat(1_000));
  expect(lines).toHaveLength(200);
  expect(lines.at(-1)).toMatch(/not logged/);
});

describe('the memory of calls', () => {
  test('does a thing once, until it is forgotten, and again when it failed', async () => {
    const made = createMadeCalls();
    let times = 0;
    const work = async () => {
      times += 1;
      return { size: 1 };
    };
    await Promise.all([made.once('t', 'a', work), made.once('t', 'a', work)]);
    await made.once('t', 'b', work);
    await made.once('u', 'a', work);
    expect(times).toBe(3);
    made.forget('t');
    await made.once('t', 'a', work);
    expect(times).toBe(4);
    const broken = () => Promise.reject(new Error('no'));
    await expect(made.once('t', 'c', broken)).rejects.toThrow('no');
    await made.once('t', 'c', work);
    expect(times).toBe(5);
  });

  test('is bounded: the oldest threads go first', async () => {
    const made = createMadeCalls();
    let times = 0;
    const large = async () => {
      times += 1;
      return { size: 20 * 1024 * 1024 };
    };
    await made.once('old', 'a', large);
    await made.once('new', 'a', large);
    await made.once('new', 'a', large);
    expect(times).toBe(2);
    await made.once('old', 'a', large);
    expect(times).toBe(3);
  });
});
