import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { WebFile, WebFiles } from '../page-ports.js';

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
/** All files together; a build is far smaller. */
const BYTES_MAX = 64 * 1024 * 1024;
const INDEX = 'index.html';

/** The built pages, read into memory once. `index` null: they are not built. Source maps stay where they are. */
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
      // Names of assets carry the hash of what is in them.
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
