import { once } from 'node:events';
import { setTimeout as passTime } from 'node:timers/promises';
import { providerError } from '../answers/provider-error.js';
import {
  type ModelCall,
  STREAM_TYPE,
  idHeader,
  isStreamRequested,
  prepareAnswer,
  writeEvents,
} from '../call/answer-call.js';
import type { Semaphores } from './queues.js';
import type { CheckedSteps } from './script.js';

/** Dependencies of a script. `onOwnEnd` is called before the simulator breaks a connection. */
interface Stage {
  semaphores: Semaphores;
  chunkDelayMs: number;
  onOwnEnd: () => void;
}

/**
 * Responds to a call by its script, step by step, until the client disconnects. Does not reject for
 * a disconnected client.
 */
export async function playScript(call: ModelCall, script: CheckedSteps, stage: Stage): Promise<void> {
  const { endpoint, id, response } = call;
  const { usage, end, status = 200 } = script;
  const left = new AbortController();
  let hasStatus = false;
  const hasLeft = once(left.signal, 'abort');
  response.once('close', () => left.abort());

  /** Waits for a callback, or for the client to disconnect: callbacks may not come after that. */
  const untilDone = async (start: (done: () => void) => void): Promise<void> => {
    if (!left.signal.aborted) await Promise.race([hasLeft, new Promise<void>(start)]);
  };
  /** Adds the usual headers that the script does not set. */
  const completeHead = (): void => {
    if (response.headersSent) return;
    const isStream = response.statusCode < 300 && isStreamRequested(call);
    const usual = [
      idHeader(endpoint.format, id),
      ['content-type', isStream ? STREAM_TYPE : 'application/json'],
    ] as const;
    for (const [name, value] of [...usual, ...(isStream ? [['cache-control', 'no-cache'] as const] : [])])
      if (!response.hasHeader(name)) response.setHeader(name, value);
  };
  /** Sends everything written so far, with the head of a status step. */
  const flush = async (): Promise<void> => {
    if (!hasStatus && !response.headersSent) return;
    completeHead();
    response.flushHeaders();
    await untilDone((done) => response.socket?.write('', done));
  };
  const pause = async (delayMs: number): Promise<void> => {
    if (delayMs === 0) return;
    await flush();
    await passTime(delayMs, undefined, { signal: left.signal }).catch(() => undefined);
  };
  /**
   * Resolves when the operating system has the bytes, so that consecutive chunks are sent
   * separately and a cut loses none.
   */
  const write = async (bytes: Buffer | string): Promise<void> => {
    completeHead();
    if (bytes.length > 0) await untilDone((done) => response.write(bytes, done));
  };
  /** Writes a complete body at once. Announces its length unless the script has an abnormal end. */
  const writeWhole = (text: string): Promise<void> => {
    if (end === 'normal' && !response.headersSent) response.setHeader('content-length', Buffer.byteLength(text));
    return write(text);
  };
  const answer = (): Promise<void> => {
    const prepared = prepareAnswer(call, usage);
    if ('message' in prepared) {
      if (!hasStatus) response.statusCode = 400;
      return writeWhole(providerError(endpoint.format, 400, id, prepared));
    }
    if (endpoint.events === undefined || !isStreamRequested(call))
      return writeWhole(JSON.stringify(endpoint.plain(prepared)));
    completeHead();
    return writeEvents(response, endpoint.events(prepared), stage.chunkDelayMs);
  };
  /** Writes the content of a script without chunks. */
  const writeContent = async (): Promise<void> => {
    // An abnormal end without content means that the provider failed before its first byte. A usage
    // step requires the default response first.
    if (script.hasChunks || (end !== 'normal' && usage === undefined)) return;
    if (status < 300 && status !== 204 && status !== 205) await answer();
    else if (status >= 400) await writeWhole(providerError(endpoint.format, status, id));
  };
  for (const step of script.steps) {
    if (step.status !== undefined || step.headers !== undefined) {
      response.statusCode = status;
      for (const [name, value] of Object.entries(step.headers ?? {})) response.setHeader(name, value);
      hasStatus = true;
    }
    await pause(step.delayMs ?? 0);
    if (step.chunk !== undefined && !left.signal.aborted) await write(step.chunk);
    if (step.waitFor !== undefined) {
      await flush();
      await stage.semaphores.wait(step.waitFor, left.signal);
    }
    if (left.signal.aborted) return;
  }
  await writeContent();
  if (left.signal.aborted) return;
  if (end === 'normal') {
    completeHead();
    response.end();
    return;
  }
  await flush();
  if (end === 'stall') return void (await hasLeft);
  if (left.signal.aborted) return;
  stage.onOwnEnd();
  if (end === 'reset') response.socket?.resetAndDestroy();
  else response.socket?.destroySoon();
}
