import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.txt': 'text/plain; charset=utf-8',
};
const COMPRESSED = /javascript|css|svg|json|text/;
const COMPRESSED_BYTES_MIN = 1_024;
/** Most bytes of all files; a build is far smaller. */
const BYTES_MAX = 64 * 1024 * 1024;
const INDEX = 'index.html';
/** Placeholder in the page for the nonce of its policy. */
const NONCE_PLACE = '__CSP_NONCE__';
const NONCE_BYTES = 16;
const FOR_EVER = 'public, max-age=31536000, immutable';
const FOR_AN_HOUR = 'public, max-age=3600';
const NOT_BUILT = 'The pages are not built. Run npm run build.\n';
const HSTS = 'max-age=31536000';
export const CSP_REPORT_PATH = '/api/csp-report';

/** A built file of the pages. */
interface WebFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly gzip: Buffer | null;
  /** Whether its name contains a hash of its content. */
  readonly isHashed: boolean;
}

export interface WebFiles {
  /** The HTML page; null: the pages are not built. */
  readonly index: string | null;
  /** By path. */
  readonly files: ReadonlyMap<string, WebFile>;
}

/** Reads the built pages into memory. `index` is null if they are not built. */
export function loadWebFiles(directory: string): WebFiles {
  const files = new Map<string, WebFile>();
  let index: string | null = null;
  let left = BYTES_MAX;
  for (const name of namesIn(directory)) {
    const file = join(directory, name);
    left -= statSync(file).size;
    if (left < 0) throw new Error(`the built pages are larger than ${BYTES_MAX} bytes`);
    const bytes = readFileSync(file);
    const type = TYPES[extname(name)];
    if (name === INDEX) index = bytes.toString('utf8');
    else if (type !== undefined) {
      const isCompressed = COMPRESSED.test(type) && bytes.length >= COMPRESSED_BYTES_MIN;
      const path = `/${name.replaceAll('\\', '/')}`;
      // Names of assets contain a hash of their content.
      files.set(path, {
        type,
        bytes,
        gzip: isCompressed ? gzipSync(bytes) : null,
        isHashed: path.startsWith('/assets/'),
      });
    }
  }
  return { index, files };
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) =>
      statSync(join(directory, name)).isFile(),
    );
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw err;
  }
}

/**
 * Sends a file, or the HTML page for all other paths; the page selects its view by path. HEAD gets
 * the same headers.
 */
export function sendWebFile(
  { index, files }: WebFiles,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const file = files.get(path);
  if (file !== undefined) return sendFile(file, request, response);
  // Responds with 404, because a browser would run the HTML page as a script.
  if (path.startsWith('/assets/'))
    return sendText(request, response, 404, 'This file does not exist. Reload the page.\n');
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

/** Sets the headers of every response: no framing, no sniffing, no referrer. */
export function setCommonHeaders(response: ServerResponse, secure: boolean): void {
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('referrer-policy', 'no-referrer');
  response.setHeader('cross-origin-resource-policy', 'same-origin');
  response.setHeader('cross-origin-opener-policy', 'same-origin');
  // Responses that are not pages load nothing.
  response.setHeader('content-security-policy', "default-src 'none'; base-uri 'none'; frame-ancestors 'none'");
  if (secure) response.setHeader('strict-transport-security', HSTS);
}

/** Returns the policy of pages: own files only; styles added at run time need the nonce. */
function pagePolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    `report-uri ${CSP_REPORT_PATH}`,
  ].join('; ');
}
