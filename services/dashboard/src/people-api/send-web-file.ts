import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { WebFile, WebFiles } from '../page-ports.js';
import { pagePolicy } from './page-headers.js';

/** Stands in the page where the nonce of its policy belongs. */
const NONCE_PLACE = '__CSP_NONCE__';
const NONCE_BYTES = 16;
const FOR_EVER = 'public, max-age=31536000, immutable';
const FOR_AN_HOUR = 'public, max-age=3600';
const NOT_BUILT = 'The pages are not built here: npm run build makes them.\n';

/** A file, or the page for every other path: which page that is, it finds by itself. HEAD has the same head. */
export function sendWebFile(
  { index, files }: WebFiles,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const file = files.get(path);
  if (file !== undefined) return sendFile(file, request, response);
  // A missing asset is missing: the page in its place would be run as a script.
  if (path.startsWith('/assets/')) return sendText(request, response, 404, 'There is no such file.\n');
  if (index === null) return sendText(request, response, 503, NOT_BUILT);
  const nonce = randomBytes(NONCE_BYTES).toString('base64');
  response.setHeader('content-security-policy', pagePolicy(nonce));
  response.setHeader('content-type', 'text/html; charset=utf-8');
  response.setHeader('cache-control', 'no-store');
  send(request, response, 200, Buffer.from(index.replaceAll(NONCE_PLACE, nonce)));
}

function sendFile({ type, bytes, gzip, isHashed }: WebFile, request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('content-type', type);
  response.setHeader('cache-control', isHashed ? FOR_EVER : FOR_AN_HOUR);
  const isGzip = gzip !== null && /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  if (gzip !== null) response.setHeader('vary', 'accept-encoding');
  if (isGzip) response.setHeader('content-encoding', 'gzip');
  send(request, response, 200, isGzip ? gzip : bytes);
}

function sendText(request: IncomingMessage, response: ServerResponse, status: number, text: string): void {
  response.setHeader('content-type', 'text/plain; charset=utf-8');
  response.setHeader('cache-control', 'no-store');
  send(request, response, status, Buffer.from(text));
}

function send(request: IncomingMessage, response: ServerResponse, status: number, bytes: Buffer): void {
  response.statusCode = status;
  response.setHeader('content-length', bytes.length);
  response.end(request.method === 'HEAD' ? undefined : bytes);
}
