import { expect, test } from '@jest/globals';
import { gatewayError } from '@gateway/contracts/errors';
import type { CatalogSource } from '@gateway/contracts/messages';
import { fakeResponse } from '../../../test/fake-answer.js';
import { FORMATS, type Format } from '../../../test/formats.js';
import { throwFault } from '../../../test/throw-fault.js';
import { ENDPOINT_TABLE, type EndpointSpec } from '../../formats/endpoints.js';
import { parseCall } from '../../parse/parse-call.js';
import type { Authorizer, DecryptedSource, SourceReader } from '../../ports.js';
import type { AdmittedCall } from '../call.js';
import type { Delivery } from '../relay/delivery.js';
import { Attempt, type AttemptParts } from './attempt.js';
import type { AttemptOutcome } from './attempt-judge.js';
import { type AttemptEvent, type AttemptPhase, TRANSITIONS } from './attempt-state.js';

const CHAT = FORMATS[0] as Format;
const EVENT_STREAM = { 'content-type': 'text/event-stream' };
const PHASES: readonly AttemptPhase[] = ['credential', 'head', 'error_body', 'relay', 'rest', 'over'];
const EVENTS: readonly AttemptEvent[] = [
  'authorized',
  'head',
  'data',
  'end',
  'failed',
  'begun',
  'first_event',
  'kept_back',
  'ended',
  'incomplete',
  'provider_failed',
  'pause',
  'left',
  'stalled',
  'drained',
  'stopped',
  'expired',
];

/** One attempt at a simulated source. Records all its effects. */
class Played {
  readonly done: string[] = [];
  readonly attempt: Attempt;
  readonly faults: unknown[] = [];
  /** Thrown once, by the next judgement. */
  nextFault: Error | null = null;
  reader: SourceReader;
  nowMs = 0;
  readAfterDisconnectMs: number | null = null;
  #limits: { readonly expired: () => void; readonly failed: (err: unknown) => void; isCancelled: boolean }[] = [];
  #leave: () => void = () => undefined;
  stall: () => void = () => undefined;
  drain: () => void = () => undefined;
  readonly answer = fakeResponse({
    write: () => !this.isFull,
    onGone: (listener) => (this.#leave = listener),
    onDrain: (listener) => (this.drain = listener),
    watchReading: (_ms, stalled) => (this.stall = stalled),
  });
  isFull = false;
  /** Times of clients that left before the first byte, in seconds. */
  readonly left: number[] = [];
  tried: AttemptOutcome | null = null;
  readonly call: AdmittedCall;

  constructor(authorizer: Authorizer | null) {
    const { body } = CHAT.request({ model: 'pub/model', stream: true });
    const row = ENDPOINT_TABLE.get(CHAT.path) as EndpointSpec;
    const bytes = Buffer.from(body);
    const parsed = parseCall(row, { contentType: 'application/json', contentEncoding: undefined }, bytes);
    if (!parsed.ok) throw new Error('the request is acceptable');
    const call = {
      id: 'id',
      parsed: parsed.call,
      request: { answer: this.answer, headers: { classHeaders: [], raw: [] }, query: '' },
      body: { bytes, free: () => undefined },
      deadlineAt: 600_000,
      begunAtMs: 0,
      startedAt: 0,
      held: {},
      firstByteAt: null,
      ended: null,
      onEnded: null,
    };
    this.call = Object.defineProperty(call, 'row', { get: () => this.#rowOrFault(row) }) as unknown as AdmittedCall;
    const opened = openedSource(authorizer);
    this.attempt = new Attempt(this.#parts(), this.call, opened, CONTEXT, (tried) => {
      this.tried = tried;
      this.done.push('result');
    });
    this.reader = this.attempt;
    this.attempt.start();
  }

  data(text: string): void {
    this.reader.data(Buffer.from(text));
  }

  leave(): void {
    (this.answer as { isGone: boolean }).isGone = true;
    this.#leave();
  }

  /** Expires the active limit. */
  expire(): void {
    this.nowMs += 10_000_000;
    const due = this.#limits.filter(({ isCancelled }) => !isCancelled);
    this.#limits = [];
    for (const { expired, failed } of due) {
      try {
        expired();
      } catch (err) {
        failed(err);
      }
    }
  }

  get limits(): number {
    return this.#limits.filter(({ isCancelled }) => !isCancelled).length;
  }

  /** Every judgement of the attempt reads its row, so this getter throws the fault. */
  #rowOrFault(row: EndpointSpec): EndpointSpec {
    const fault = this.nextFault;
    this.nextFault = null;
    if (fault !== null) throw fault;
    return row;
  }

  #parts(): AttemptParts {
    const at = (_ms: number, expired: () => void, failed: (err: unknown) => void = throwFault) => {
      const limit = { expired, failed, isCancelled: false };
      this.#limits.push(limit);
      return { cancel: () => void (limit.isCancelled = true) };
    };
    const exchange = {
      pause: () => this.done.push('pause'),
      resume: () => this.done.push('resume'),
      abort: () => this.done.push('abort'),
    };
    return {
      settings: { upstreamDeadlineMs: 600_000, stalledMs: 60_000, readAfterDisconnectMs: this.readAfterDisconnectMs },
      deadlines: { nowMs: () => this.nowMs, at, in: at },
      clock: { nowMs: () => this.nowMs },
      log: { debug: () => undefined, error: ({ err }: { err: unknown }) => this.faults.push(err) },
      metrics: { firstToken: () => undefined, leftBeforeFirstByte: (seconds: number) => this.left.push(seconds) },
      privateSources: { refused: () => undefined },
      running: { size: 0 },
      sources: {
        send: (_request: unknown, reader: SourceReader) => {
          this.reader = reader;
          return exchange;
        },
      },
    } as unknown as AttemptParts;
  }
}

const CONTEXT = { freshConnection: false, isLastSource: true, keepsBody: false, over: () => undefined };
const DELIVERY: Delivery = { ended: 'complete', meter: null, lastPiece: null, error: null };

/** An authorizer whose credential never arrives. */
const WAITING: Authorizer = {
  headersFor: () => new Promise(() => undefined),
  kind: 'token',
  mayReplace: () => true,
  judged: () => undefined,
};

function openedSource(authorizer: Authorizer | null): DecryptedSource {
  const limits = { headersTimeoutMs: null, firstEventTimeoutMs: null, silenceTimeoutMs: null };
  const source = { id: 'src', upstreamModel: 'up', paths: {}, betas: [], limits, streamUsage: true, costs: [] };
  const unchecked = source as unknown as CatalogSource;
  return { source: unchecked, origin: 'http://source', basePath: '', headers: [], authorizer };
}

/** Brings an attempt into a phase. */
const REACH: Readonly<Record<AttemptPhase, (played: Played) => void>> = {
  credential: () => undefined,
  head: ({ reader }) => reader.sent(),
  error_body: ({ reader }) => reader.head(400, {}),
  relay: (played) => {
    played.reader.sent();
    played.reader.head(200, EVENT_STREAM);
    played.data(CHAT.first);
  },
  rest: (played) => {
    REACH.relay(played);
    played.data(CHAT.done);
  },
  over: ({ reader }) => reader.failed({ kind: 'unreachable', reused: false, reason: 'refused' }),
};

/** Triggers an event in its default form. */
const FIRE: Readonly<Record<AttemptEvent, (played: Played) => void>> = {
  authorized: ({ attempt }) => attempt.authorized({ headers: ['authorization', 'Bearer x'], version: 1 }),
  head: ({ reader }) => reader.head(200, EVENT_STREAM),
  data: (played) => played.data(CHAT.delta('lo')),
  end: ({ reader }) => reader.end(false),
  failed: ({ reader }) => reader.failed({ kind: 'broken', reused: false, reason: 'reset' }),
  begun: ({ attempt }) => attempt.begun(),
  first_event: ({ attempt }) => attempt.event(),
  kept_back: ({ attempt }) => attempt.keptBack(() => undefined),
  ended: ({ attempt }) => attempt.ended(DELIVERY),
  incomplete: ({ attempt }) => attempt.incomplete({ kind: 'unusable_body' }),
  provider_failed: ({ attempt }) => void attempt.providerFailed(null, true),
  pause: ({ attempt }) => attempt.pause(),
  left: (played) => played.leave(),
  stalled: (played) => played.stall(),
  drained: (played) => played.drain(),
  stopped: ({ call }) => call.onEnded?.(gatewayError('account_suspended')),
  expired: (played) => played.expire(),
};

type Way = readonly [to: AttemptPhase, fire?: (played: Played) => void];
/** Leaves an unbilled call, so that the edge does not read on. */
const leaveUnpaid = (played: Played): void => {
  (played.call as { held: null }).held = null;
  played.leave();
};

/** Further transitions: a variant of the event, or another state of the response. */
const WAYS: Readonly<Partial<Record<`${AttemptPhase} ${AttemptEvent}`, readonly Way[]>>> = {
  'head head': [
    ['relay'],
    ['error_body', ({ reader }) => reader.head(429, {})],
    ['rest', ({ reader }) => reader.head(503, {})],
  ],
  'head left': [['head'], ['over', leaveUnpaid]],
  'error_body data': [['error_body'], ['rest', (played) => played.data('x'.repeat(64 * 1024))]],
  'relay data': [
    ['relay'],
    ['rest', (played) => played.data(CHAT.done)],
    ['over', (played) => played.data(CHAT.providerError)],
  ],
  'relay ended': [['rest'], ['over', ({ attempt }) => attempt.ended({ ...DELIVERY, ended: 'cut' })]],
  'relay provider_failed': [['relay'], ['over', ({ attempt }) => void attempt.providerFailed(null, false)]],
  'relay left': [['relay'], ['over', leaveUnpaid]],
  'rest data': [['rest'], ['over', (played) => played.data('x'.repeat(64 * 1024 + 1))]],
};

const CELLS = PHASES.flatMap((phase) => EVENTS.map((event) => [phase, event] as const));

function reached(phase: AttemptPhase, isPaused = false): Played {
  const played = new Played(phase === 'credential' ? WAITING : null);
  if (isPaused) pauseIn(played);
  if (!isPaused) REACH[phase](played);
  else if (phase === 'rest') played.data(CHAT.done);
  else if (phase === 'over') FIRE.failed(played);
  expect(played.attempt.phase).toBe(phase);
  return played;
}

test.each(CELLS)('in phase %s the event %s causes the transition of the table', (phase, event) => {
  const following = TRANSITIONS[phase][event];
  if (following === undefined) return expectNothing(phase, event);
  const ways = WAYS[`${phase} ${event}`] ?? [[following[0] as AttemptPhase]];
  expect(ways.map(([to]) => to).sort()).toEqual([...following].sort());
  for (const [to, fire = FIRE[event]] of ways) {
    const played = reached(phase, event === 'drained' || event === 'stalled');
    fire(played);
    expect(played.attempt.phase).toBe(to);
    const hasResult = to === 'rest' || to === 'over';
    expect(played.done.filter((what) => what === 'result')).toHaveLength(hasResult ? 1 : 0);
  }
});

/** Begins a response whose client does not read. */
function pauseIn(played: Played): void {
  REACH.relay(played);
  played.isFull = true;
  played.data(CHAT.delta('lo'));
  expect(played.done).toEqual(['pause']);
}

/** Expects that the event changes neither the result nor the limits nor the connection. */
function expectNothing(phase: AttemptPhase, event: AttemptEvent): void {
  const played = reached(phase);
  const before = [played.attempt.phase, [...played.done], played.limits];
  FIRE[event](played);
  expect([played.attempt.phase, played.done, played.limits]).toEqual(before);
}

test('the table has every phase and only known events', () => {
  expect(Object.keys(TRANSITIONS)).toEqual(PHASES);
  for (const transitions of Object.values(TRANSITIONS)) {
    expect(EVENTS).toEqual(expect.arrayContaining(Object.keys(transitions)));
  }
});

test.each<[AttemptEvent, ((played: Played) => void)?]>([
  ['data', (played) => played.data(CHAT.providerError)],
  ['end'],
  ['failed'],
  ['left', leaveUnpaid],
  ['stopped'],
  ['expired'],
])('an exception in the event %s ends the attempt, is logged and cuts the response', (event, fire = FIRE[event]) => {
  const played = reached('relay');
  const fault = new Error('a fault');
  played.nextFault = fault;
  fire(played);
  expect([played.attempt.phase, played.faults, played.limits]).toEqual(['over', [fault], 0]);
  expect(played.tried).toMatchObject({ judged: { outcome: 'broken' }, delivery: { ended: 'cut', meter: null } });
  expect(played.done.filter((what) => what === 'result')).toHaveLength(1);
});

test('an exception before the first byte lets the next source respond', () => {
  const played = reached('head');
  played.nextFault = new Error('a fault');
  FIRE.expired(played);
  expect([played.attempt.phase, played.faults.length]).toEqual(['over', 1]);
  expect(played.tried).toMatchObject({ judged: { step: 'next_source' }, delivery: null });
});

test('the time of a source runs from the request at a connection to the result', () => {
  const played = new Played(WAITING);
  played.nowMs = 70;
  FIRE.authorized(played);
  played.nowMs = 100;
  REACH.rest(played);
  expect(played.tried).toMatchObject({ firstByteMs: 100, sourceMs: 30 });
  const unsent = new Played(WAITING);
  unsent.expire();
  expect(unsent.tried).toMatchObject({ firstByteMs: null, sourceMs: 0 });
});

test('a client that leaves is timed only before the first byte', () => {
  const early = new Played(null);
  early.nowMs = 60_000;
  early.leave();
  const late = new Played(null);
  REACH.relay(late);
  late.nowMs = 60_000;
  late.leave();
  expect([early.left, late.left]).toEqual([[60], []]);
});
