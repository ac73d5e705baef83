import { mkdir, open, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { formatLine, readLine, type UnstoredEvent } from './unstored-line.js';

/**
 * Largest file of one edge: its journal's 64 MiB as strings inside strings, with every byte
 * escaped, and the other members of 20,000 lines.
 */
const FILE_BYTES_MAX = 160 * 1024 * 1024;
/** Most files that are read at a time. Further ones are read a minute later. */
const FILES_MAX = 1_000;
const FILE_NAME = /^unstored-[A-Za-z0-9_-]+\.jsonl$/;

/** The contents of one file. */
export interface SpoolFile {
  readonly file: string;
  readonly events: readonly UnstoredEvent[];
  /** Number of truncated or malformed lines. The empty line at the end does not count. */
  readonly broken: number;
  /** Number of lines of an unknown version. */
  readonly unknown: number;
}

/**
 * A directory for unstored usage events of stopping edges. A file is written under a temporary name
 * and renamed after it has been flushed to disk, so a file with its final name is complete. It is
 * never changed afterwards, since another edge deletes it after it has stored its events.
 */
export class UsageSpool {
  readonly #own: string[] = [];

  private constructor(
    private readonly directory: string,
    private readonly edgeId: string,
  ) {}

  /** Creates the directory if it does not exist. Rejects if this process cannot write to it. */
  static async open(directory: string, edgeId: string): Promise<UsageSpool> {
    const spool = new UsageSpool(directory, edgeId);
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      // Tests now whether files can be written, since at a stop it would be too late.
      const trial = `${spool.#next()}.new`;
      await write(trial, '');
      await rm(trial);
    } catch (err) {
      const { message } = err as Error;
      throw new Error(
        `GATEWAY_USAGE_SPOOL_DIRECTORY cannot be written: ${message}. Give this user write permission, or unset the variable`,
      );
    }
    return spool;
  }

  /** Adds a file with these events. Must not be called again before it has resolved. */
  async keep(events: readonly UnstoredEvent[]): Promise<void> {
    const file = this.#next();
    await write(`${file}.new`, events.map((event) => `${JSON.stringify(formatLine(event))}\n`).join(''));
    await rename(`${file}.new`, file);
    this.#own.push(file);
  }

  /** Writes one file with these events, and deletes the earlier files of this edge. */
  async keepAll(events: readonly UnstoredEvent[]): Promise<void> {
    const before = [...this.#own];
    await this.keep(events);
    await Promise.all(before.map((file) => rm(file, { force: true })));
  }

  /** Deletes all files of this edge, whose events are now in the stream. */
  async drop(): Promise<void> {
    await Promise.all(this.#own.map((file) => rm(file, { force: true })));
  }

  #next(): string {
    return join(this.directory, `unstored-${this.edgeId}-${this.#own.length + 1}.jsonl`);
  }

  /** Returns the files of edges that have stopped or are stopping. */
  async files(): Promise<string[]> {
    const names = (await readdir(this.directory)).filter((name) => FILE_NAME.test(name)).sort();
    return names.slice(0, FILES_MAX).map((name) => join(this.directory, name));
  }

  /**
   * Returns null if the file is gone because another edge was faster. Rejects if the file is too
   * large to be an edge's.
   */
  async read(file: string): Promise<SpoolFile | null> {
    const size = await stat(file).then(({ size }) => size, goneAsNull);
    if (size === null) return null;
    if (size > FILE_BYTES_MAX) throw new Error(`${file} has ${size} bytes, more than an edge can write`);
    const text = await readFile(file, 'utf8').catch(goneAsNull);
    return text === null ? null : { file, ...readLines(text) };
  }

  /**
   * Handles a file whose events are all stored: deletes it, renames it to `.broken` if it has
   * malformed lines, or leaves it for a newer program if it has lines of an unknown version.
   */
  async settled({ file, broken, unknown }: SpoolFile): Promise<void> {
    if (unknown > 0) return;
    if (broken === 0) await rm(file, { force: true });
    else await rename(file, `${file}.broken`).catch(goneAsNull);
  }
}

function readLines(text: string): Omit<SpoolFile, 'file'> {
  const events: UnstoredEvent[] = [];
  let [broken, unknown] = [0, 0];
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const read = readLine(line);
    if (read.kind === 'event') events.push(read.event);
    else if (read.kind === 'unknown version') unknown += 1;
    else broken += 1;
  }
  return { events, broken, unknown };
}

async function write(file: string, text: string): Promise<void> {
  const handle = await open(file, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function goneAsNull(err: NodeJS.ErrnoException): null {
  if (err.code === 'ENOENT') return null;
  throw err;
}
