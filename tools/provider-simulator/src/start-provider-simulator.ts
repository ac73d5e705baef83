import { BYTES_MAX, CALLS_MAX, CallLog } from './call/call-log.js';
import type { CallFilter, CallRecord } from './call/call-log.js';
import { serveCall } from './call/serve-call.js';
import { clearScripts, CONTROL_PREFIX, serveControl } from './control/serve-control.js';
import { Listener } from './listen/listener.js';
import { integerOf } from './scripts/check-field.js';
import { Semaphores } from './scripts/semaphores.js';
import { parseScript } from './scripts/parse-script.js';
import { DELAY_MS_MAX } from './scripts/parse-step.js';
import type { ListenerName, Script } from './scripts/script.js';
import { ScriptQueue } from './scripts/script-queue.js';
import type { SimulatorCounters, SimulatorState } from './simulator-state.js';

/** Words of a response unless something else sets its size. */
const ANSWER_WORDS_DEFAULT = 24;
const ANSWER_WORDS_MAX = 100_000;

/** All options have defaults. A number outside its bounds throws. */
export interface ProviderSimulatorOptions {
  /** Listen address. Default: 127.0.0.1. */
  host?: string;
  /** Ports of listeners `a` and `b`. 0, the default, selects a free one. */
  ports?: [number, number];
  /** Calls without this key get 401 in their provider's format. Control requests need no key. */
  requireKey?: string;
  /** Whether to store calls for `calls` and `GET /__calls`. Default: true. */
  recordCalls?: boolean;
  /** Words of a default response. Default: 24. A request's own output limit may shorten it. */
  answerWords?: number;
  /** Milliseconds between the events of a default stream. Default: 0. */
  chunkDelayMs?: number;
}

/** A running simulator. */
export interface ProviderSimulator {
  /** Base URLs of listeners `a` and `b`, without `/v1`. */
  urls: [string, string];
  /** Queues a script. Throws `InvalidControlInput` if it is invalid. */
  script(script: Script): void;
  /** Removes the scripts of one model, or all scripts and unused releases. */
  clearScripts(model?: string): void;
  /** Returns recorded calls, oldest first; none if calls are not recorded. */
  calls(filter?: CallFilter): CallRecord[];
  /** Lets one call (or `times`) continue at a `waitFor` step, now or when it reaches the step. */
  release(name: string, times?: number): void;
  /** Resolves when new connections to it are refused and existing ones are destroyed. */
  closeListener(name: ListenerName): Promise<void>;
  /** Listens again on the same port. */
  reopenListener(name: ListenerName): Promise<void>;
  /** Counts of calls since the start, recorded or not. */
  counters(): SimulatorCounters & { scriptsQueued: number };
  close(): Promise<void>;
}

/** Starts both listeners. Resolves when they accept connections; rejects if a port is taken. */
export async function startProviderSimulator(options: ProviderSimulatorOptions = {}): Promise<ProviderSimulator> {
  const state = makeState(options);
  const host = options.host ?? '127.0.0.1';
  const [portA, portB] = options.ports ?? [0, 0];
  const listeners = { a: makeListener(state, 'a', host, portA), b: makeListener(state, 'b', host, portB) };
  const close = async (): Promise<void> => {
    await Promise.all([listeners.a.close(), listeners.b.close()]);
  };
  try {
    await listeners.a.open();
    await listeners.b.open();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    urls: [listeners.a.url, listeners.b.url],
    script: (script) => state.scripts.add(parseScript(script)),
    clearScripts: (model) => clearScripts(state, model),
    calls: (filter = {}) => state.log?.list(filter) ?? [],
    release: (name, times = 1) => state.semaphores.release(name, times),
    closeListener: (name) => listeners[name].close(),
    reopenListener: (name) => listeners[name].open(),
    counters: () => ({ ...structuredClone(state.counters), scriptsQueued: state.scripts.size }),
    close,
  };
}

function makeState(options: ProviderSimulatorOptions): SimulatorState {
  const { answerWords: words = ANSWER_WORDS_DEFAULT, chunkDelayMs = 0 } = options;
  return {
    seq: 0,
    scripts: new ScriptQueue(),
    semaphores: new Semaphores(),
    log: options.recordCalls === false ? undefined : new CallLog(CALLS_MAX, BYTES_MAX),
    settings: {
      words: integerOf(words, 'answerWords', 1, ANSWER_WORDS_MAX),
      chunkDelayMs: integerOf(chunkDelayMs, 'chunkDelayMs', 0, DELAY_MS_MAX),
    },
    requireKey: options.requireKey,
    counters: { calls: { a: 0, b: 0 }, aborted: 0 },
    now: Date.now,
  };
}

function makeListener(state: SimulatorState, name: ListenerName, host: string, port: number): Listener {
  return new Listener(name, host, port, (listener, request, response) => {
    const url = request.url ?? '/';
    if (url.startsWith(CONTROL_PREFIX)) return serveControl(state, request, response);
    const query = url.indexOf('?');
    serveCall(state, listener, query === -1 ? url : url.slice(0, query), request, response);
  });
}
