import { expect, test } from '@jest/globals';
import { SeededRandom } from '@gateway/testkit/random';
import { testSeed } from '@gateway/testkit/seed';
import { findProblem } from './check-stream.js';
import { readCaseCount, table, writeReport } from './figures.js';
import { generateStream, type GeneratedStream } from './generate-stream.js';
import { splitEvents } from './reference-relay.js';

/** Streams of the short run in every test run; `npm run verify:fuzz -- relay` sets more. */
const STREAMS_DEFAULT = 2_000;
/** A shorter run is printed, but does not replace the committed figures. */
const STREAMS_FULL = 100_000;
const MINUTE_MS = 60_000;

const streams = readCaseCount('GATEWAY_VERIFY_STREAMS', STREAMS_DEFAULT);
const seed = testSeed();

test(
  `${streams} streams pass as the reference parser expects (seed ${seed})`,
  () => {
    const random = new SeededRandom(seed);
    const figures = { chunks: 0, bytes: 0, events: 0, endings: new Map<string, number>() };
    const startedAt = performance.now();
    for (let number = 0; number < streams; number += 1) {
      const stream = generateStream(random);
      expectGenerated(stream);
      const problem = findProblem(stream, random.next);
      if (problem !== null) throw new Error(describeProblem(stream, number, problem));
      figures.chunks += stream.chunks.length;
      figures.bytes += stream.bytes.length;
      figures.events += stream.sseEvents.length;
      const ending = `${stream.format}, ${stream.end}`;
      figures.endings.set(ending, (figures.endings.get(ending) ?? 0) + 1);
    }
    if (streams > STREAMS_DEFAULT) report(figures, performance.now() - startedAt);
  },
  60 * MINUTE_MS,
);

/** Checks that the reference parser finds the events of the generator. Both are independent. */
function expectGenerated({ sseEvents, rest, bytes }: GeneratedStream): void {
  const text = bytes.toString();
  const start = text.startsWith('\ufeff') ? '\ufeff' : '';
  const found = splitEvents(text);
  const made = [...sseEvents.map(({ wire }) => wire), rest];
  made[0] = start + (made[0] ?? '');
  const read = [...found.sseEvents.map((sseEvent) => sseEvent.text), found.rest];
  // Compare the joined texts first, since the matcher is slow and needed only to show a difference.
  if (read.join('\0') !== made.join('\0')) expect(read).toEqual(made);
}

function describeProblem(stream: GeneratedStream, number: number, problem: string): string {
  const chunks = stream.chunks.map((chunk) => chunk.toString('latin1'));
  const { format, end, dropUsage } = stream;
  return `seed ${seed}, stream ${number}: ${problem}\n${JSON.stringify({ format, end, dropUsage, chunks })}`;
}

function report(
  { chunks, bytes, events, endings }: { chunks: number; bytes: number; events: number; endings: Map<string, number> },
  ms: number,
): void {
  const facts = table([
    ['', ''],
    ['streams', streams.toLocaleString('en')],
    ['seed', String(seed)],
    ['events', events.toLocaleString('en')],
    ['chunks', chunks.toLocaleString('en')],
    ['bytes', bytes.toLocaleString('en')],
    ['differences', '0'],
    ['time', `${(ms / 1000).toFixed(0)} s`],
  ]);
  const kinds = [...endings].sort().map(([ending, count]) => [ending, count.toLocaleString('en')] as const);
  const text = `# Verification of the relay

\`npm run verify:fuzz -- relay\`: sends generated streams, split into chunks anywhere, through the relay and through a reference parser
that reads each stream as a whole. It compares the bytes to the client, the last chunk, the end of the stream, the usage and the
text for an estimate. It also checks that no complete event is held back.

${facts}

${table([['format, end', 'streams'], ...kinds])}
`;
  writeReport('relay', text, streams >= STREAMS_FULL);
}
