import { createServer } from 'node:http';

/** Maximum number of stored spans. Older spans are dropped. */
const SPANS_MAX = 10_000;

/**
 * Starts a collector that stores spans sent as OTLP/JSON and returns them as plain JSON on `GET
 * /spans`.
 */
export async function startTraceCollector() {
  const spans = [];
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(spans));
      return;
    }
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      spans.push(...read(Buffer.concat(chunks).toString('utf8')));
      spans.splice(0, Math.max(0, spans.length - SPANS_MAX));
      response.setHeader('content-type', 'application/json');
      response.end('{}');
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}

function read(text) {
  const { resourceSpans = [] } = JSON.parse(text);
  return resourceSpans.flatMap(({ resource, scopeSpans = [] }) => {
    const service = attribute(resource?.attributes, 'service.name');
    return scopeSpans.flatMap(({ spans = [] }) =>
      spans.map((span) => ({
        service,
        name: span.name,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        kind: span.kind,
        status: span.status ?? {},
        events: span.events ?? [],
        links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId, spanId })),
        attributes: Object.fromEntries((span.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]])),
      })),
    );
  });
}

function attribute(attributes = [], key) {
  return attributes.find((entry) => entry.key === key)?.value?.stringValue;
}
