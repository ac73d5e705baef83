import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { decideTrace, LINKS_MAX, NO_SPAN, startSpan, startTelemetry } from '../index.js';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const SAMPLED = `00-${TRACE_ID}-b7ad6b7169203331-01`;
const UNSAMPLED = `00-${TRACE_ID}-b7ad6b7169203331-00`;

/** Several batches, which still wait when the process stops. */
const FILLING_SPANS = 3_000;

interface SentSpan {
  traceId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  status: { code?: number };
  attributes: { key: string }[];
  links: { spanId: string }[];
}

const sent: SentSpan[] = [];
let collector: Server;

beforeAll(async () => {
  collector = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      expect(request.url).toBe('/v1/traces');
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
        resourceSpans: { scopeSpans: { spans: SentSpan[] }[] }[];
      };
      sent.push(...body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
});

afterAll(() => new Promise((resolve) => collector.close(resolve)));

test('decideTrace() follows a sampled caller, else chance, and keeps the trace ID', () => {
  const never = () => 0.999;
  const always = () => 0;
  expect(decideTrace(SAMPLED, 0, never)).toEqual({ sampled: true, parent: SAMPLED });
  expect(decideTrace(UNSAMPLED, 0.5, never)).toEqual({ sampled: false, parent: UNSAMPLED });
  expect(decideTrace(UNSAMPLED, 0.5, always)).toEqual({ sampled: true, parent: UNSAMPLED });
  expect(decideTrace(undefined, 0.5, always)).toEqual({ sampled: true, parent: undefined });
  expect(decideTrace(undefined, 0, always)).toEqual({ sampled: false, parent: undefined });
  expect(decideTrace(undefined, 1, never)).toEqual({ sampled: true, parent: undefined });
  // No object is created for an untraced call.
  expect(decideTrace(undefined, 0.5, never)).toBe(decideTrace(undefined, 0, never));
});

test('decideTrace() drops an invalid traceparent', () => {
  const zeroTrace = `00-${'0'.repeat(32)}-b7ad6b7169203331-01`;
  const zeroSpan = `00-${TRACE_ID}-${'0'.repeat(16)}-01`;
  for (const text of ['', 'x', zeroTrace, zeroSpan, SAMPLED.toUpperCase(), `${SAMPLED}\r\nx: y`, `${SAMPLED}-00`]) {
    expect(decideTrace(text, 0, () => 0)).toEqual({ sampled: false, parent: undefined });
  }
});

test('startSpan() creates no spans without a collector', () => {
  expect(startSpan('call', { parent: SAMPLED, sampled: true })).toBe(NO_SPAN);
  expect(NO_SPAN.traceparent).toBeUndefined();
});

test('spans of traced calls are sent as one trace, and no others', async () => {
  const { port } = collector.address() as AddressInfo;
  const otlpEndpoint = `http://127.0.0.1:${port}/`;
  const telemetry = startTelemetry({ service: 'edge-proxy', replica: 'one', version: '1', otlpEndpoint });
  const call = startSpan('call', { ...decideTrace(SAMPLED, 0, () => 1), attributes: { model: 'a/b' } });
  const admit = startSpan('admit', { parent: call.traceparent });
  admit.fault(new Error('refused'));
  admit.end();
  call.set({ status: 200 });
  expect(
    startSpan(
      'untraced',
      decideTrace(undefined, 0, () => 1),
    ),
  ).toBe(NO_SPAN);
  expect(startSpan('unsampled', { parent: UNSAMPLED })).toBe(NO_SPAN);
  const links = Array.from({ length: LINKS_MAX + 8 }, () => SAMPLED);
  const root = startSpan('root', { parent: undefined, sampled: true, kind: 'consumer', links });
  root.fail('timed_out');
  root.end();
  call.link(root.traceparent as string);
  call.end();
  for (let count = 0; count < FILLING_SPANS; count += 1) startSpan('filling', { parent: SAMPLED }).end();
  await telemetry.shutdown();

  expect(sent.filter(({ name }) => name === 'filling')).toHaveLength(FILLING_SPANS);
  const others = sent.map(({ name }) => name).filter((name) => name !== 'filling');
  expect(others.sort()).toEqual(['admit', 'call', 'root']);
  const [sentCall, sentAdmit, sentRoot] = ['call', 'admit', 'root'].map((name) =>
    sent.find((span) => span.name === name),
  );
  expect(sentCall).toMatchObject({ traceId: TRACE_ID, parentSpanId: 'b7ad6b7169203331' });
  expect(sentCall?.attributes.map(({ key }) => key)).toEqual(['model', 'status']);
  expect(call.traceparent).toMatch(new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-01$`));
  expect(sentAdmit).toMatchObject({
    traceId: TRACE_ID,
    parentSpanId: call.traceparent?.split('-')[2],
    status: { code: 2 },
  });
  expect(sentRoot?.traceId).not.toBe(TRACE_ID);
  expect(sentRoot).toMatchObject({ kind: 5, status: { code: 2 } });
  expect(sentRoot?.attributes.map(({ key }) => key)).toEqual(['error.type']);
  expect(sentRoot?.links).toHaveLength(LINKS_MAX);
  expect(sentCall?.links).toMatchObject([{ spanId: root.traceparent?.split('-')[2] }]);
  expect(startSpan('late', { parent: SAMPLED })).toBe(NO_SPAN);
});
