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
import type { ScriptAction, ScriptUsage } from './script.js';

/** Dependencies of a script. `onOwnEnd` is called before the simulator breaks a connection. */
interface Stage {
  semaphores: Semaphores;
  chunkDelayMs: number;
  onOwnEnd: () => void;
}

/**
 * Responds to a call by its script, action by action, until the client disconnects. Does not reject
 * for a disconnected client.
 */
export async function playScript(call: ModelCall, actions: readonly ScriptAction[], stage: Stage): Promise<void> {
  const { endpoint, id, response } = call;
  const left = new AbortController();
  const endsNormally = actions.some((action) => action.kind === 'end' && action.how === 'normal');
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
    if (endsNormally && !response.headersSent) response.setHeader('content-length', Buffer.byteLength(text));
    return write(text);
  };
  const answer = async (usage: ScriptUsage | undefined): Promise<void> => {
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
  const play = async (action: ScriptAction): Promise<void> => {
    switch (action.kind) {
      case 'head':
        response.statusCode = action.status;
        for (const [name, value] of Object.entries(action.headers)) response.setHeader(name, value);
        hasStatus = true;
        return;
      case 'bytes':
        await pause(action.delayMs);
        return write(action.bytes);
      case 'pause':
        return pause(action.delayMs);
      case 'wait':
        await flush();
        return stage.semaphores.wait(action.semaphore, left.signal);
      case 'answer':
        return answer(action.usage);
      case 'error':
        return writeWhole(providerError(endpoint.format, action.status, id));
      case 'end':
        if (action.how === 'normal') {
          completeHead();
          response.end();
          return;
        }
        await flush();
        if (action.how === 'stall') return void (await hasLeft);
        if (left.signal.aborted) return;
        stage.onOwnEnd();
        if (action.how === 'reset') response.socket?.resetAndDestroy();
        else response.socket?.destroySoon();
    }
  };
  for (const action of actions) if (!left.signal.aborted) await play(action);
}
