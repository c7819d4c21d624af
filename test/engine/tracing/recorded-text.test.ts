import { describe, expect, test } from 'vitest';
import { createTextRecorder } from '../../../src/engine/tracing/recorded-text.ts';
import { createScrubber, secretsIn } from '../../../src/engine/tracing/scrub.ts';

const recorder = (maxBytes = 65_536, secrets: string[] = []) => createTextRecorder(maxBytes, createScrubber(secrets));
const json = (value: unknown): unknown => {
  const { text, mime } = recorder().value(value);
  expect(mime).toBe('application/json');
  return JSON.parse(text);
};

describe('any value at all becomes text', () => {
  test('what JSON has', () => {
    const value = { a: [1, 'two', true, null], b: { c: 'é "quoted"\n' }, d: 0.5 };
    expect(json(value)).toEqual(value);
    expect(recorder().value('plain')).toEqual({ text: 'plain', mime: 'text/plain' });
  });

  test('what it has not', () => {
    const odd: Record<string, unknown> = {
      at: new Date(0),
      big: 10n,
      none: undefined,
      fn() {},
      nan: Number.NaN,
      bytes: new Uint8Array(9),
      set: new Set([1]),
      map: new Map([['k', 1]]),
      picture: `data:image/png;base64,${'A'.repeat(4_000)}`,
      own: { toJSON: () => ({ told: 1 }) },
    };
    odd.self = odd;
    Object.defineProperty(odd, 'bomb', {
      enumerable: true,
      get() {
        throw new Error('boom');
      },
    });
    expect(json(odd)).toEqual({
      at: '1970-01-01T00:00:00.000Z',
      big: '10',
      nan: null,
      bytes: '[9 bytes]',
      set: [1],
      map: [['k', 1]],
      picture: '[4022 characters of data]',
      own: { told: 1 },
      self: '[Circular]',
      bomb: '[unreadable]',
    });
  });

  test('what is nested without end', () => {
    const deep: unknown[] = [];
    let at = deep;
    for (let n = 0; n < 100_000; n += 1) {
      const next: unknown[] = [];
      at.push(next);
      at = next;
    }
    expect(recorder().value(deep).text).toContain('[too deep]');
  });

  test('the same object twice is no circle', () => {
    const one = { a: 1 };
    expect(json([one, one])).toEqual([one, one]);
  });
});

describe('a cut', () => {
  test.each([0, 1, 2, 3, 4])('is between characters, with %i bytes before', (before) => {
    for (const letter of ['a', 'é', '€', '😀']) {
      const text = 'x'.repeat(before) + letter.repeat(2_000);
      const cut = recorder(1_024).text(text);
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(1_024);
      expect(Buffer.byteLength(cut)).toBeGreaterThan(1_019);
      expect(cut.endsWith('… [cut]')).toBe(true);
      expect(cut).not.toContain('\ufffd');
      expect(text.startsWith(cut.slice(0, -'… [cut]'.length))).toBe(true);
    }
  });

  test('is not made where it is not needed', () => {
    for (const text of ['x'.repeat(1_024), 'é'.repeat(512)]) expect(recorder(1_024).text(text)).toBe(text);
  });

  test('bounds the work: a state without end is not read to its end', () => {
    let read = 0;
    const endless = new Proxy([] as string[], {
      get(target, name) {
        if (name === 'length') return 1e9;
        if (typeof name === 'string' && /^\d+$/.test(name)) {
          read += 1;
          return 'word';
        }
        return Reflect.get(target, name);
      },
    });
    expect(recorder(1_024).value(endless).text.endsWith('… [cut]')).toBe(true);
    expect(read).toBeLessThan(2_000);
  });

  test('does not cut a secret in two', () => {
    const secret = `lsv2_pt_${'0123456789abcdef'.repeat(2)}`;
    const cut = recorder(1_024).text(`${'x'.repeat(1_000)}${secret}${'y'.repeat(1_000)}`);
    expect(cut).not.toContain('lsv2_');
  });
});

describe('secrets', () => {
  test('are known by the names they stand under', () => {
    expect(
      json({
        apiKey: 'one',
        'x-api-key': 'two',
        password: 'three',
        pin: 4,
        db_password: 12_345_678,
        nested: { client_secret: { value: ['five'] }, Authorization: 'six' },
        // These are none.
        key: 'colour',
        keyword: 'train',
        max_tokens: 400,
        input_tokens: 50_000,
        tokenizer: 'cl100k',
        author: 'Ana',
      }),
    ).toEqual({
      apiKey: '***',
      'x-api-key': '***',
      password: '***',
      pin: 4,
      db_password: '***',
      nested: { client_secret: { value: ['***'] }, Authorization: '***' },
      key: 'colour',
      keyword: 'train',
      max_tokens: 400,
      input_tokens: 50_000,
      tokenizer: 'cl100k',
      author: 'Ana',
    });
  });

  test.each([
    ['sk-proj-abcdefghijklmnop', '***'],
    ['two lines\nsk-proj-abcdefghijklmnop', 'two lines\n***'],
    ['my key is sk-ant-api03-abcdefghijkl, ok?', 'my key is ***, ok?'],
    ['{"note":"hi","api_key":"abc-123","n":1}', '{"note":"hi","api_key":"***","n":1}'],
    ['{"password": "two words"}', '{"password": "***"}'],
    ['{"inner":"{\\"client_secret\\":\\"abc\\"}"}', '{"inner":"{\\"client_secret\\":\\"***\\"}"}'],
    ['OPENAI_API_KEY=abcdefgh and password = "hunter22"', 'OPENAI_API_KEY=*** and password = "***"'],
    ['{"output_tokens":120,"keyword":"train"}', '{"output_tokens":120,"keyword":"train"}'],
    ['Authorization: Bearer abcdefghijk1', 'Authorization: Bearer ***'],
    ['Basic cGs6c2stMTIzNDU2', 'Basic ***'],
    ['postgresql://me:hunter22@db/chat', 'postgresql://me:***@db/chat'],
    ['https://x.example/?a=1&api_key=abc&b=2', 'https://x.example/?a=1&api_key=***&b=2'],
    ['ghp_abcdefghijklmnopqrstuvwxyz0123', '***'],
    ['AKIAABCDEFGHIJKLMNOP', '***'],
    ['xoxb-1234567890-abc', '***'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl', '***'],
    ['-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----', '***'],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIE', '***'],
    [
      'a risk-averse basic understanding of bearer instruments; see https://x.example/a=b',
      'a risk-averse basic understanding of bearer instruments; see https://x.example/a=b',
    ],
  ])('are known by their looks: %s', (text, clean) => {
    expect(recorder().text(text)).toBe(clean);
    expect(JSON.parse(recorder().value([text]).text)).toEqual([clean]);
  });

  test('that are known are taken out wherever they stand', () => {
    const { text, value } = recorder(65_536, ['open sesame "42"', 'short']);
    expect(text('say open sesame "42" and short')).toBe('say *** and short');
    expect(value({ a: ['open sesame "42"'] }).text).toBe('{"a":["***"]}');
    expect(text('?q=open%20sesame%20%2242%22')).toBe('?q=***');
  });

  test('of a configuration are found by their names', () => {
    const config = {
      name: 'desk',
      headers: { Authorization: 'Bearer abcdefgh', Accept: 'text/html' },
      env: [{ SOME_TOKEN: 'ijklmnop' }],
      secretary_prompt: 'You are a secretary and answer questions.',
    };
    expect(secretsIn(config)).toEqual(['abcdefgh', 'ijklmnop']);
  });
});
