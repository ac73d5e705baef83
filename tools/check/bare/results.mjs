import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';

/** Collects results, prints them at once, and writes the table. */
export class Results {
  #rows = [];
  failed = 0;

  /**
   * Runs one step. Its result is a text, or an object with a `text`. If it fails, prints the
   * expectation with the observed output and returns `null`.
   */
  async step(who, what, work) {
    const startedAt = performance.now();
    const seconds = () => (performance.now() - startedAt) / 1000;
    try {
      const result = await work((row, rowSeconds, text) =>
        this.#add({ who, what: row, seconds: rowSeconds, text, ok: true }),
      );
      this.#add({ who, what, seconds: seconds(), text: typeof result === 'string' ? result : result.text, ok: true });
      return result;
    } catch (error) {
      this.failed += 1;
      this.#add({ who, what, seconds: seconds(), text: error.message.split('\n')[0], ok: false });
      console.log(error.message.split('\n').slice(1).join('\n'));
      if (!error.expected) console.log(error.stack);
      return null;
    }
  }

  write(file, { source, root }) {
    const lines = [
      '# Bare machine',
      '',
      'Written by `npm run check:bare`: a Debian 12 made by debootstrap (minbase), with ca-certificates, git, Node and npm added,',
      'no curl, no servers, no package lists. The npm cache is empty before the first `npm ci` of each user.',
      '',
      `Source: ${source?.text ?? 'none'}. Node ${process.versions.node}, npm ${root?.npmVersion ?? '?'}, ${cpus().length} cores.`,
      '',
      '| As | What | Seconds | Result |',
      '| --- | --- | ---: | --- |',
      ...this.#rows.map(
        ({ who, what, seconds, text, ok }) =>
          `| ${who} | ${what} | ${seconds.toFixed(1)} | ${ok ? '' : '**failed**: '}${text.replaceAll('|', '\\|')} |`,
      ),
      '',
      this.failed === 0 ? 'All passed.' : `${this.failed} failed.`,
      '',
    ];
    writeFileSync(file, lines.join('\n'));
    console.log(`\n${lines.at(-2)} The table is in .results/bare.md.`);
  }

  #add(row) {
    this.#rows.push(row);
    console.log(
      `${row.ok ? 'ok    ' : 'FAILED'} ${row.seconds.toFixed(1).padStart(6)} s  ${row.who}: ${row.what}: ${row.text}`,
    );
  }
}

/** A failed check with its expectation and the observed output. */
export class Unexpected extends Error {
  expected = true;
  constructor(expectation, seen = '') {
    super(`expected ${expectation}\n${seen}`);
  }
}

export function expect(condition, expectation, seen) {
  if (!condition) throw new Unexpected(expectation, typeof seen === 'function' ? seen() : seen);
}
