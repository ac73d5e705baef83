/** The longest single event that is kept in memory. */
const EVENT_CHARS_MAX = 4_000_000;

/** The `data` of each event of a server-sent stream, in order; lines of one event are joined. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      rest += value;
      if (rest.length > EVENT_CHARS_MAX) throw new Error('an event of the answer is too long');
      const events = rest.split(/\r?\n\r?\n/);
      rest = events.pop() ?? '';
      for (const event of events) yield* dataOf(event);
    }
    yield* dataOf(rest);
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function* dataOf(event: string): Generator<string> {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  if (lines.length > 0) yield lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n');
}
