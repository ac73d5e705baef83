import { CallLog, type CallFilter, type CallRecord } from './call/call-log.js';
import { serveCall } from './call/serve-call.js';
import { ScriptQueue, Semaphores } from './scripts/queues.js';
import type { ListenerName, Script } from './scripts/script.js';
import { Listener, type SimulatorState, readBody } from './simulator-state.js';

/** All options have defaults. */
export interface ProviderSimulatorOptions {
  /** Listen address. Default: 127.0.0.1. */
  host?: string;
  /** Ports of listeners `a` and `b`. 0, the default, selects a free one. */
  ports?: [number, number];
  /** Calls without this key get 401 in their provider's format. */
  requireKey?: string;
  /** Whether to store calls for `calls`. Default: true. */
  recordCalls?: boolean;
  /** Milliseconds between the events of a default stream. Default: 0. */
  chunkDelayMs?: number;
}

/** A running simulator. */
export interface ProviderSimulator {
  /** Base URLs of listeners `a` and `b`, without `/v1`. */
  urls: [string, string];
  /** Queues a script. @throws Error if it could not be played */
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
  /** Number of waiting scripts. */
  scriptsQueued(): number;
  close(): Promise<void>;
}

/** Starts both listeners. Resolves when they accept connections; rejects if a port is taken. */
export async function startProviderSimulator(options: ProviderSimulatorOptions = {}): Promise<ProviderSimulator> {
  const { host = '127.0.0.1', ports: [portA, portB] = [0, 0], recordCalls = true } = options;
  const state: SimulatorState = {
    seq: 0,
    scripts: new ScriptQueue(),
    semaphores: new Semaphores(),
    log: recordCalls ? new CallLog() : undefined,
    chunkDelayMs: options.chunkDelayMs ?? 0,
    requireKey: options.requireKey,
  };
  const open = async (name: ListenerName, port: number): Promise<Listener> => {
    const listener = new Listener(name, host, port, (request, response) => {
      readBody(request, (received) => serveCall(state, listener, request, response, received));
    });
    await listener.open();
    return listener;
  };
  const a = await open('a', portA);
  const b = await open('b', portB).catch(async (error: unknown) => {
    await a.close();
    throw error;
  });
  const listeners = { a, b };
  return {
    urls: [a.url, b.url],
    script: (script) => state.scripts.add(script),
    clearScripts(model) {
      state.scripts.clear(model);
      if (model === undefined) state.semaphores.clear();
    },
    calls: (filter = {}) => state.log?.list(filter) ?? [],
    release(name, times = 1) {
      for (let n = 0; n < times; n += 1) state.semaphores.release(name);
    },
    closeListener: (name) => listeners[name].close(),
    reopenListener: (name) => listeners[name].open(),
    scriptsQueued: () => state.scripts.size,
    close: async () => void (await Promise.all([a.close(), b.close()])),
  };
}
