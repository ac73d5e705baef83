import { gatewayError, type GatewayError } from '@gateway/contracts/errors';
import { fakeResponse } from '../test/fake-answer.js';
import type { Delivery } from '../src/call/relay/delivery.js';
import { StreamRelay } from '../src/call/relay/relay-stream.js';
import { READERS } from '../src/formats/readers.js';
import type { GeneratedStream } from './generate-stream.js';
import { type Expected, parseStream, splitEvents, showsAnswer } from './reference-relay.js';

/** Number of checks of the client's view per stream. */
const LOOKS_MAX = 4;
const ID = '01890000-0000-7000-8000-000000000000';

interface Relayed {
  readonly written: string;
  readonly delivery: Delivery | null;
  readonly isUnusable: boolean;
  /** The gateway's error that replaces the provider's. */
  readonly failure: GatewayError | null;
  readonly begunBeforeFirstEvent: boolean;
}

/** Sends a stream through the relay. Returns the first difference to the reference, or null. */
export function findProblem(stream: GeneratedStream, random: () => number): string | null {
  const expected = parseStream(stream);
  const lookEvery = Math.max(1, Math.ceil(stream.chunks.length / LOOKS_MAX));
  const late: string[] = [];
  const relayed = relay(stream, random, (chunks, written) => {
    if (chunks % lookEvery === 0) late.push(...lateBytes(stream, chunks, written, expected.finalAt));
  });
  if (late[0] !== undefined) return late[0];
  if (relayed.begunBeforeFirstEvent) return 'the response began before the first event';
  const { delivery, isUnusable, failure, written } = relayed;
  switch (expected.ended) {
    case 'unusable':
      return isUnusable && written === '' ? null : 'a stream without an event was not rejected';
    case 'refused':
      return failure !== null && written === '' ? null : 'a stream that begins with an error was not rejected';
    case 'unfinished':
      if (!isUnusable) return 'an incomplete stream was reported as complete';
      return isPassed(written, expected.passed) ? null : 'an incomplete stream was not relayed unchanged';
    default: {
      if (delivery === null) return 'the relay did not end';
      const ending = { left: 'client_disconnected', complete: 'complete' }[expected.ended as string] ?? 'cut';
      if (delivery.ended !== ending) return `ended ${delivery.ended} instead of ${ending}`;
      return bytesProblem(stream, expected, written, delivery) ?? meterProblem(expected, delivery);
    }
  }
}

/**
 * Compares the bytes to the client. The CR of a CRLF already ends an event; if no complete event
 * follows, the LF belongs to an incomplete event and is not sent.
 */
function isPassed(written: string, expected: string): boolean {
  return written === expected || (expected.endsWith('\r\n') && written === expected.slice(0, -1));
}

function relay(
  stream: GeneratedStream,
  random: () => number,
  look: (chunks: number, written: string) => void,
): Relayed {
  const pieces: Buffer[] = [];
  let delivery: Delivery | null = null;
  let isUnusable = false;
  let failure: GatewayError | null = null;
  let fed = 0;
  let begunBeforeFirstEvent = false;
  const answer = fakeResponse({ write: (bytes) => pieces.push(Buffer.from(bytes)) > 0 && random() < 0.9 });
  const relay = new StreamRelay({
    answer,
    headers: [],
    reader: READERS[stream.format],
    metering: { dropUsageChunk: stream.dropUsage, choices: 1 },
    requestId: ID,
    events: {
      begun: () => (begunBeforeFirstEvent = !hasAnswer(stream, fed)),
      event: () => undefined,
      keptBack: () => undefined,
      ended: (ended) => (delivery = ended),
      incomplete: () => void (isUnusable = true),
      // Handles the error like an attempt without another source (call/attempt).
      providerFailed(_said, canPass) {
        if (relay.hasBegun && canPass) return true;
        failure = gatewayError('upstream_error');
        if (relay.hasBegun) relay.stop('cut', failure);
        else relay.drop();
        return false;
      },
      pause: () => undefined,
      firstToken: () => undefined,
    },
  });
  for (const chunk of stream.chunks) {
    fed += 1;
    relay.data(chunk);
    if (delivery === null && !isUnusable && failure === null) look(fed, Buffer.concat(pieces).toString());
  }
  if (stream.end === 'proper') relay.end(false);
  else
    relay.stop(
      stream.end === 'cut' ? 'cut' : 'client_disconnected',
      stream.end === 'cut' ? gatewayError('upstream_timeout') : null,
    );
  return { written: Buffer.concat(pieces).toString(), delivery, isUnusable, failure, begunBeforeFirstEvent };
}

function textOf(stream: GeneratedStream, chunks: number): string {
  return Buffer.concat(stream.chunks.slice(0, chunks)).toString();
}

/** Whether the stream shows an answer. A proper end counts trailing and held-back bytes too. */
function hasAnswer(stream: GeneratedStream, chunks: number): boolean {
  const isEnd = chunks === stream.chunks.length && stream.end === 'proper';
  const { sseEvents } = splitEvents(textOf(stream, chunks) + (isEnd ? '\n\n' : ''));
  return sseEvents.some((sseEvent) => showsAnswer(stream.format, sseEvent) || (isEnd && sseEvent.data !== null));
}

/** Checks that the client has every complete event, unless the stream has shown no answer yet. */
function lateBytes(stream: GeneratedStream, chunks: number, written: string, finalAt: number | null): string[] {
  const { sseEvents } = splitEvents(textOf(stream, chunks));
  if (!sseEvents.some((sseEvent) => showsAnswer(stream.format, sseEvent)) || stream.dropUsage) return [];
  const complete = sseEvents.map(({ text }) => text).join('');
  if (finalAt !== null && complete.length > finalAt) return [];
  // The LF of a split CRLF is sent with the next event.
  return written === complete || `${written}\n` === complete ? [] : ['a complete event was held back'];
}

function bytesProblem(
  stream: GeneratedStream,
  { passed, following, ended, finalAt }: Expected,
  written: string,
  delivery: Delivery,
): string | null {
  const last = delivery.lastPiece?.toString() ?? '';
  const all = written + last;
  if (finalAt !== null) {
    // The LF of a split CRLF is sent with the next event.
    const isBefore = [written, `${written}\n`].includes(passed.slice(0, finalAt));
    if (!isBefore) return 'the bytes before the final marker differ from those of the provider';
    if (!all.startsWith(passed)) return 'the last chunk is not the final marker';
    return all === passed + following ? null : 'the bytes after the final marker differ from those of the provider';
  }
  if (last !== '') return 'a last chunk without a final marker';
  // In a broken stream the LF of a split CRLF may be missing, since no event followed.
  const isWhole = all === passed || (ended !== 'complete' && `${all}\n` === passed);
  if (!isWhole) return 'the bytes differ from those of the provider';
  const code = CODE_OF_ENDING[ended];
  if (code === undefined)
    return delivery.cutEnding === undefined ? null : 'an ending although the gateway did not cut the stream';
  return endingProblem(stream, delivery.cutEnding?.toString() ?? '', code);
}

/** The error code in the gateway's own ending of a stream. */
const CODE_OF_ENDING: Readonly<Record<string, string>> = { cut: 'upstream_timeout', replaced: 'upstream_error' };

/**
 * Checks that the gateway's own ending is a complete error event without a final marker and without
 * the provider's text.
 */
function endingProblem({ format }: GeneratedStream, ending: string, code: string): string | null {
  const { sseEvents, rest } = splitEvents(ending);
  if (rest !== '' || sseEvents.length === 0) return 'the ending is not an event';
  if (!ending.includes(code)) return 'the ending has no error code';
  if (ending.includes('Overloaded')) return "the ending contains the provider's text";
  const isError = format === 'chat' ? /^data: \{"error"/.test(ending) : sseEvents.at(-1)?.event === 'error';
  return isError ? null : 'the ending is not an error event';
}

function meterProblem(expected: Expected, { meter }: Delivery): string | null {
  const { usage, isRunning, textBytes, ended, finalAt } = expected;
  if (meter === null) return 'nothing was metered';
  if (meter.deliveredBytes !== textBytes) return `${meter.deliveredBytes} bytes of text instead of ${textBytes}`;
  const counted = meter.usage ?? meter.begun ?? null;
  const output = isRunning ? meter.begun?.outputAtLeast : counted?.output;
  const same = counted === null ? usage === null : counted.input === usage?.input && output === usage.output;
  if (isRunning && meter.usage !== null) return 'a count before more text is used as the output';
  if (!same) return `usage ${JSON.stringify(counted)} instead of ${JSON.stringify(usage)}`;
  if (ended === 'complete' && finalAt !== null && !meter.finished) return 'the final marker was not seen';
  return null;
}
