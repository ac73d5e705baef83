import { expect, test } from '@jest/globals';
import { SeededRandom } from '@gateway/testkit/random';
import { testSeed } from '@gateway/testkit/seed';
import { findProblem } from './check-stream.js';
import { generateStream, type GeneratedStream } from './generate-stream.js';
import { printFigures, readCaseCount } from './random-cases.js';
import { splitEvents } from './reference-relay.js';

/** Streams of the short run in every test run; `npm run verify:fuzz -- relay` sets more. */
const STREAMS_DEFAULT = 2_000;
const MINUTE_MS = 60_000;

const streams = readCaseCount('GATEWAY_VERIFY_STREAMS', STREAMS_DEFAULT);
const seed = testSeed();

test(
  `${streams} streams pass as the reference parser expects (seed ${seed})`,
  () => {
    const random = new SeededRandom(seed);
    const figures = { seed, streams, chunks: 0, bytes: 0, events: 0 };
    for (let number = 0; number < streams; number += 1) {
      const stream = generateStream(random);
      expectGenerated(stream);
      const problem = findProblem(stream, random.next);
      if (problem !== null) throw new Error(describeProblem(stream, number, problem));
      figures.chunks += stream.chunks.length;
      figures.bytes += stream.bytes.length;
      figures.events += stream.parts.length - 1;
    }
    if (streams > STREAMS_DEFAULT) printFigures(figures);
  },
  60 * MINUTE_MS,
);

/** Checks that the reference parser finds the events of the generator. Both are independent. */
function expectGenerated({ parts, bytes }: GeneratedStream): void {
  const found = splitEvents(bytes.toString());
  const read = [...found.sseEvents.map((sseEvent) => sseEvent.text), found.rest];
  // Compare the joined texts first, since the matcher is slow and needed only to show a difference.
  if (read.join('\0') !== parts.join('\0')) expect(read).toEqual(parts);
}

function describeProblem(stream: GeneratedStream, number: number, problem: string): string {
  const chunks = stream.chunks.map((chunk) => chunk.toString('latin1'));
  const { format, end, dropUsage } = stream;
  return `seed ${seed}, stream ${number}: ${problem}\n${JSON.stringify({ format, end, dropUsage, chunks })}`;
}
