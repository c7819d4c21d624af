import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { until } from './gates.ts';

/** A span as it came over the wire. */
export interface WireSpan {
  traceId: string;
  spanId: string;
  /** Empty for none. */
  parentSpanId: string;
  traceState: string;
  name: string;
  /** OpenTelemetry's numbers: 1 internal, 2 server, 3 client. */
  kind: number;
  startNano: bigint;
  endNano: bigint;
  attributes: Record<string, unknown>;
  events: { name: string; attributes: Record<string, unknown> }[];
  /** 0 unset, 1 ok, 2 error. */
  status: { code: number; message: string };
  resource: Record<string, unknown>;
}

/** One request the receiver has got. */
export interface WireRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** What a body of JSON holds. */
  json: unknown;
  spans: WireSpan[];
}

/** What is answered; undefined is a success. May wait. */
export type Answering = (
  request: WireRequest,
  response: ServerResponse,
) => undefined | 'handled' | Promise<undefined | 'handled'>;

/** A collector of one test. */
export interface Receiver {
  readonly url: string;
  readonly port: number;
  readonly requests: WireRequest[];
  /** Spans of every request that was answered well. */
  readonly spans: WireSpan[];
  /** Everything that came, as text, to look for what should not be there. */
  readonly text: string;
  /** Changes what is answered. */
  answer(how: Answering | undefined): void;
  /** Waits for spans. */
  until(check: (spans: WireSpan[]) => boolean, what?: string): Promise<WireSpan[]>;
  close(): Promise<void>;
}

/** Starts a collector on loopback. @param port to come back on. */
export async function startReceiver(port = 0): Promise<Receiver> {
  const requests: WireRequest[] = [];
  const spans: WireSpan[] = [];
  const sockets = new Set<Socket>();
  let answering: Answering | undefined;
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('error', () => {});
    incoming.on('end', async () => {
      const body = Buffer.concat(chunks);
      const { method = '', url: path = '', headers } = incoming;
      const isJson = headers['content-type'] === 'application/json';
      const isProtobuf = headers['content-type'] === 'application/x-protobuf';
      const request: WireRequest = {
        method,
        path,
        headers,
        body,
        json: isJson ? JSON.parse(body.toString()) : undefined,
        spans: isProtobuf ? decodeRequest(body) : [],
      };
      requests.push(request);
      if ((await answering?.(request, response)) === 'handled') return;
      spans.push(...request.spans);
      response.setHeader('content-type', headers['content-type'] ?? 'text/plain');
      response.end(isJson ? '{}' : '');
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${bound}`,
    port: bound,
    requests,
    spans,
    get text() {
      return requests.map(({ headers, body }) => JSON.stringify(headers) + body.toString('utf8')).join('\n');
    },
    answer(how) {
      answering = how;
    },
    until: (check, what = 'the spans') =>
      until(() => (check(spans) ? spans : undefined), what, 20_000) as Promise<WireSpan[]>,
    close,
  };
}

/** The spans of the run with this id. */
export function ofRun(spans: readonly WireSpan[], runId: string): WireSpan[] {
  return spans.filter(({ attributes }) => attributes['service.run_id'] === runId);
}

/** Whether the run with this id has come whole: its root is the last to end. */
export function isWhole(spans: readonly WireSpan[], runId: string): boolean {
  return ofRun(spans, runId).some(({ attributes }) => attributes['service.run.status'] !== undefined);
}

/** A run's spans as an indented list of kinds and names, in order of their beginning. */
export function treeOf(spans: readonly WireSpan[]): string[] {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const beneath = (parent: string | undefined, indent: string): string[] =>
    spans
      .filter(({ parentSpanId }) => (parent === undefined ? !ids.has(parentSpanId) : parentSpanId === parent))
      .sort((left, right) => (left.startNano < right.startNano ? -1 : 1))
      .flatMap((span) => [
        `${indent}${span.attributes['openinference.span.kind']} ${span.name}`,
        ...beneath(span.spanId, `${indent}  `),
      ]);
  return beneath(undefined, '');
}

/** The one span of that kind and name. */
export function spanOf(spans: readonly WireSpan[], kind: string, name?: string): WireSpan {
  const found = spans.filter(
    (span) => span.attributes['openinference.span.kind'] === kind && (name === undefined || span.name === name),
  );
  if (found.length !== 1 || found[0] === undefined) {
    throw new Error(`${found.length} spans are ${kind} ${name ?? ''}: ${treeOf(spans).join('; ')}`);
  }
  return found[0];
}

type Field = { field: number; value: Buffer | bigint };

/** The fields of a protobuf message. */
function fieldsOf(bytes: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at];
      if (byte === undefined) throw new Error('the message ends early');
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const field = tag >> 3;
    const wire = tag & 7;
    if (wire === 0) fields.push({ field, value: varint() });
    else if (wire === 2) {
      const length = Number(varint());
      if (at + length > bytes.length) throw new Error('the message ends early');
      fields.push({ field, value: bytes.subarray(at, at + length) });
      at += length;
    } else if (wire === 1 || wire === 5) {
      const length = wire === 1 ? 8 : 4;
      const slice = bytes.subarray(at, at + length);
      fields.push({ field, value: wire === 1 ? slice.readBigUInt64LE() : BigInt(slice.readUInt32LE()) });
      at += length;
    } else throw new Error(`wire type ${wire} is none of protobuf's`);
  }
  return fields;
}

const all = (fields: Field[], wanted: number): Buffer[] =>
  fields.filter(({ field }) => field === wanted).map(({ value }) => value as Buffer);
const text = (fields: Field[], wanted: number): string => all(fields, wanted)[0]?.toString('utf8') ?? '';
const number = (fields: Field[], wanted: number): bigint =>
  (fields.find(({ field }) => field === wanted)?.value as bigint | undefined) ?? 0n;

/** `ExportTraceServiceRequest` of OTLP. */
function decodeRequest(body: Buffer): WireSpan[] {
  return all(fieldsOf(body), 1).flatMap((resourceSpans) => {
    const fields = fieldsOf(resourceSpans);
    const [resource] = all(fields, 1);
    const about = resource === undefined ? {} : attributesOf(fieldsOf(resource), 1);
    return all(fields, 2).flatMap((scopeSpans) =>
      all(fieldsOf(scopeSpans), 2).map((span) => decodeSpan(fieldsOf(span), about)),
    );
  });
}

function decodeSpan(fields: Field[], resource: Record<string, unknown>): WireSpan {
  const status = fieldsOf(all(fields, 15)[0] ?? Buffer.alloc(0));
  return {
    traceId: all(fields, 1)[0]?.toString('hex') ?? '',
    spanId: all(fields, 2)[0]?.toString('hex') ?? '',
    traceState: text(fields, 3),
    parentSpanId: all(fields, 4)[0]?.toString('hex') ?? '',
    name: text(fields, 5),
    kind: Number(number(fields, 6)),
    startNano: number(fields, 7),
    endNano: number(fields, 8),
    attributes: attributesOf(fields, 9),
    events: all(fields, 11).map((event) => {
      const inner = fieldsOf(event);
      return { name: text(inner, 2), attributes: attributesOf(inner, 3) };
    }),
    status: { code: Number(number(status, 3)), message: text(status, 2) },
    resource,
  };
}

function attributesOf(fields: Field[], wanted: number): Record<string, unknown> {
  return Object.fromEntries(
    all(fields, wanted).map((pair) => {
      const inner = fieldsOf(pair);
      return [text(inner, 1), readValue(fieldsOf(all(inner, 2)[0] ?? Buffer.alloc(0)))];
    }),
  );
}

/** `AnyValue`: text, boolean, integer, float, list. */
function readValue([first]: Field[]): unknown {
  if (first === undefined) return undefined;
  const { field, value } = first;
  if (field === 1) return (value as Buffer).toString('utf8');
  if (field === 2) return value === 1n;
  if (field === 3) return Number(BigInt.asIntN(64, value as bigint));
  if (field === 4) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(value as bigint);
    return bytes.readDoubleLE();
  }
  if (field === 5) return all(fieldsOf(value as Buffer), 1).map((entry) => readValue(fieldsOf(entry)));
  throw new Error(`a value of kind ${field} is not expected`);
}
