import type { SeededRandom } from '@gateway/testkit/random';

/** Returns the number of cases: `short`, unless the environment variable sets another one. */
export function readCaseCount(variable: string, short: number): number {
  const cases = Number(process.env[variable] ?? short);
  if (!Number.isSafeInteger(cases) || cases < 1) throw new RangeError(`${variable} must be a positive integer`);
  return cases;
}

/** Prints the figures of a long run for docs/verification.md. */
export function printFigures(figures: Readonly<Record<string, unknown>>): void {
  const seconds = Math.round(performance.now() / 1_000);
  const memory = `${Math.round(process.memoryUsage.rss() / 2 ** 20)} MiB`;
  process.stdout.write(`${JSON.stringify({ ...figures, seconds, memory })}\n`);
}

/** How {@link mutate} changes bytes. */
interface Mutations {
  /** Texts that it inserts. */
  readonly splices: readonly string[];
  readonly encoding?: 'latin1' | 'utf8';
  /** The most bytes that it removes or repeats. */
  readonly spanMax: number;
  /** The first byte that it changes. */
  readonly at?: number;
}

/** Returns the bytes with one change. */
export function mutate(random: SeededRandom, bytes: Buffer, how: Mutations): Buffer {
  const { splices, encoding = 'utf8', spanMax, at = random.below(bytes.length + 1) } = how;
  const to = Math.min(bytes.length, at + random.below(spanMax));
  const before = bytes.subarray(0, at);
  const after = bytes.subarray(random.chance(0.5) ? at : to);
  switch (random.below(6)) {
    case 0:
      return Buffer.concat([before, Buffer.from([random.below(256)]), after]);
    case 1:
      return Buffer.concat([before, bytes.subarray(to)]);
    case 2:
      return Buffer.concat([before, Buffer.from(random.pick(splices), encoding), after]);
    case 3: {
      const copy = Buffer.from(bytes);
      if (at < copy.length) copy[at] = (copy[at] as number) ^ (1 << random.below(8));
      return copy;
    }
    case 4:
      return Buffer.concat([bytes.subarray(0, to), bytes.subarray(at)]);
    default:
      return before;
  }
}

/** Splits the bytes into chunks of random sizes up to `sizeMax`, also inside a character. */
export function cutBytes(random: SeededRandom, bytes: Buffer, sizeMax: number): Buffer[] {
  const chunks: Buffer[] = [];
  for (let from = 0; from < bytes.length;) {
    const until = Math.min(bytes.length, from + 1 + random.below(sizeMax));
    chunks.push(bytes.subarray(from, until));
    from = until;
  }
  return chunks;
}
