import { mkdir, open, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { lineOf, readLine, type UnstoredEvent } from './unstored-line.js';

/**
 * What one edge can leave at once: its journal's 64 MiB as texts in texts, every byte escaped at
 * worst, and room for the rest of 20,000 lines.
 */
const FILE_BYTES_MAX = 160 * 1024 * 1024;
/** Files that are read at one start; what is more waits for the next one. */
const FILES_MAX = 1_000;
const FILE_NAME = /^unstored-[A-Za-z0-9_-]+\.jsonl$/;

/** What one file holds. */
export interface LeftUsage {
  readonly file: string;
  readonly events: readonly UnstoredEvent[];
  /**
   * Lines that are cut short or not in their form; an empty one ends a file that was written whole.
   */
  readonly broken: number;
  /** Lines of a form that this program does not know. */
  readonly unknown: number;
}

/**
 * A directory in which edges leave usage events that no stream has. A file is written beside and
 * renamed after it has reached the disk: one that has its name is whole. It is never written again,
 * since another edge deletes it when it has stored what it read there.
 */
export class UsageSpool {
  readonly #own: string[] = [];

  private constructor(
    private readonly directory: string,
    private readonly edgeId: string,
  ) {}

  /** Makes the directory if there is none; rejects when this process may not write there. */
  static async open(directory: string, edgeId: string): Promise<UsageSpool> {
    const spool = new UsageSpool(directory, edgeId);
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      // An edge that cannot leave a file must say so now, not when it ends.
      const trial = `${spool.#next()}.new`;
      await write(trial, '');
      await rm(trial);
    } catch (err) {
      const { message } = err as Error;
      throw new Error(
        `the directory of GATEWAY_USAGE_SPOOL_DIRECTORY cannot be written: ${message}. Let this user write there, or leave it unset`,
      );
    }
    return spool;
  }

  /** Adds a file with these events. Not called again before it has ended. */
  async keep(events: readonly UnstoredEvent[]): Promise<void> {
    const file = this.#next();
    await write(`${file}.new`, events.map((event) => `${JSON.stringify(lineOf(event))}\n`).join(''));
    await rename(`${file}.new`, file);
    this.#own.push(file);
  }

  /** Leaves one file, with these events, in the place of those that this edge has left so far. */
  async keepAll(events: readonly UnstoredEvent[]): Promise<void> {
    const before = [...this.#own];
    await this.keep(events);
    await Promise.all(before.map((file) => rm(file, { force: true })));
  }

  /** The stream has all that this edge had left. */
  async drop(): Promise<void> {
    await Promise.all(this.#own.map((file) => rm(file, { force: true })));
  }

  #next(): string {
    return join(this.directory, `unstored-${this.edgeId}-${this.#own.length + 1}.jsonl`);
  }

  /** Files of edges that have ended, or are about to. */
  async files(): Promise<string[]> {
    const names = (await readdir(this.directory)).filter((name) => FILE_NAME.test(name)).sort();
    return names.slice(0, FILES_MAX).map((name) => join(this.directory, name));
  }

  /**
   * Null when the file is gone: another edge was quicker. Rejects for one that no edge can have
   * written.
   */
  async read(file: string): Promise<LeftUsage | null> {
    const size = await stat(file).then(({ size }) => size, goneAsNull);
    if (size === null) return null;
    if (size > FILE_BYTES_MAX) throw new Error(`${file} has ${size} bytes, more than an edge can leave`);
    const text = await readFile(file, 'utf8').catch(goneAsNull);
    return text === null ? null : { file, ...readLines(text) };
  }

  /**
   * The stream has every event of the file. What is broken in it is kept for a person, what is
   * unknown for a program that knows it.
   */
  async settled({ file, broken, unknown }: LeftUsage): Promise<void> {
    if (unknown > 0) return;
    if (broken === 0) await rm(file, { force: true });
    else await rename(file, `${file}.broken`).catch(goneAsNull);
  }
}

function readLines(text: string): Omit<LeftUsage, 'file'> {
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
