import { ApiError, send } from './request.js';
import type { Query } from './request.js';

export interface Progress {
  readonly bytes: number;
  readonly lines: number;
}

/** Most bytes that a browser tab can hold. Larger files are exported in parts. */
const FILE_BYTES_MAX = 500_000_000;

/** Reads an export to its end and saves it as a file. Reports progress meanwhile. */
export async function download(
  path: string,
  query: Query,
  fileName: string,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<Progress> {
  const response = await send(path, { query, signal });
  if (response.body === null)
    throw new ApiError('unexpected_answer', 'The file is empty. Try again.', response.status, null);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let progress: Progress = { bytes: 0, lines: 0 };
  const reader = response.body.getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    parts.push(value);
    progress = { bytes: progress.bytes + value.byteLength, lines: progress.lines + linesIn(value) };
    if (progress.bytes > FILE_BYTES_MAX) {
      await reader.cancel();
      throw new ApiError('unexpected_answer', 'The file is larger than 500 MB. Choose a shorter time.', 0, null);
    }
    onProgress(progress);
  }
  save(new Blob(parts, { type: response.headers.get('content-type') ?? 'application/octet-stream' }), fileName);
  return progress;
}

function linesIn(bytes: Uint8Array): number {
  let lines = 0;
  for (const byte of bytes) if (byte === 10) lines += 1;
  return lines;
}

function save(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser needs the URL only until the click returns; a minute allows for slow ones.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
