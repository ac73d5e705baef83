import { setTimeout as passTime } from 'node:timers/promises';
import { providerError } from '../answers/provider-error.js';
import { idHeader, STREAM_TYPE } from '../call/answer-call.js';
import type { AnswerSettings, ModelCall } from '../call/answer-call.js';
import { isStreamRequested, prepareAnswer } from '../call/parse-call.js';
import { writeEvents } from '../call/write-events.js';
import type { Semaphores } from './semaphores.js';
import type { ScriptAction, ScriptEnd, ScriptUsage } from './script.js';

/** Dependencies of a script. `onOwnEnd` is called before the simulator breaks a connection. */
export interface Stage {
  semaphores: Semaphores;
  settings: AnswerSettings;
  now: () => number;
  onOwnEnd: () => void;
}

/**
 * Responds to a call by its script, action by action, until the client disconnects. Does not reject
 * for a disconnected client.
 */
export async function playScript(call: ModelCall, actions: readonly ScriptAction[], stage: Stage): Promise<void> {
  const left = new AbortController();
  const end = actions.at(-1);
  const play: Play = {
    call,
    stage,
    left: left.signal,
    status: 200,
    headers: {},
    head: 'implied',
    endsNormally: end?.kind === 'end' && end.how === 'normal',
    wake: undefined,
  };
  call.response.once('close', () => {
    left.abort();
    play.wake?.();
  });
  for (const action of actions) {
    if (left.signal.aborted) return;
    await playAction(play, action);
  }
}

interface Play {
  call: ModelCall;
  stage: Stage;
  left: AbortSignal;
  status: number;
  headers: Record<string, string | string[]>;
  /**
   * `due`: a status step was reached, and its head is sent with the content or before any wait.
   * `set`: it is being sent.
   */
  head: 'implied' | 'due' | 'set';
  endsNormally: boolean;
  /** Ends the current write or stall. */
  wake: (() => void) | undefined;
}

async function playAction(play: Play, action: ScriptAction): Promise<void> {
  switch (action.kind) {
    case 'head':
      await pause(play, action.delayMs);
      play.status = action.status;
      play.headers = action.headers;
      play.head = 'due';
      return;
    case 'bytes':
      await pause(play, action.delayMs);
      if (!play.left.aborted) await write(play, action.bytes);
      return;
    case 'pause':
      return pause(play, action.delayMs);
    case 'wait':
      await sendDueHead(play);
      return play.stage.semaphores.wait(action.semaphore, play.left);
    case 'answer':
      return playAnswer(play, action.usage);
    case 'error': {
      const { endpoint, id } = play.call;
      return writeWhole(play, providerError(endpoint.format, action.status, id));
    }
    case 'end':
      return playEnd(play, action.how);
  }
}

/** Sends everything written so far, with the head, before the delay starts. */
async function pause(play: Play, delayMs: number): Promise<void> {
  if (delayMs === 0) return;
  await sendDueHead(play);
  await passTime(delayMs, undefined, { signal: play.left }).catch(() => undefined);
}

async function playAnswer(play: Play, usage: ScriptUsage | undefined): Promise<void> {
  const { endpoint, body, id, response } = play.call;
  const { settings, now } = play.stage;
  const createdSeconds = Math.floor(now() / 1000);
  const answer = prepareAnswer(endpoint, body, { id, createdSeconds, words: settings.words, usage });
  if ('message' in answer) {
    if (play.head === 'implied') play.status = 400;
    return writeWhole(play, providerError(endpoint.format, 400, id, answer));
  }
  if (endpoint.events === undefined || !isStreamRequested(endpoint, body))
    return writeWhole(play, endpoint.plain(answer));
  setHead(play);
  await writeEvents(response, endpoint.events(answer), settings.chunkDelayMs);
}

async function playEnd(play: Play, how: ScriptEnd): Promise<void> {
  const { response } = play.call;
  if (how === 'normal') {
    setHead(play);
    response.end();
    return;
  }
  await sendDueHead(play);
  if (play.left.aborted) return;
  if (how === 'stall') return untilDone(play, () => undefined);
  play.stage.onOwnEnd();
  if (how === 'reset') response.socket?.resetAndDestroy();
  else response.socket?.destroySoon();
}

/** Writes a complete body at once. Announces its length unless the script has an abnormal end. */
async function writeWhole(play: Play, text: string): Promise<void> {
  if (play.endsNormally && play.head !== 'set') {
    play.call.response.setHeader('content-length', Buffer.byteLength(text));
  }
  await write(play, text);
}

/**
 * Resolves when the operating system has the bytes, so that consecutive chunks are sent separately
 * and a cut loses none.
 */
async function write(play: Play, bytes: Buffer | string): Promise<void> {
  setHead(play);
  if (bytes.length === 0) return;
  await untilDone(play, (done) => play.call.response.write(bytes, done));
}

async function sendDueHead(play: Play): Promise<void> {
  if (play.head === 'implied') return;
  setHead(play);
  play.call.response.flushHeaders();
  await untilDone(play, (done) => play.call.response.socket?.write('', done));
}

/** Sets the head once per response: scripted headers override the default ones. */
function setHead(play: Play): void {
  if (play.head === 'set') return;
  play.head = 'set';
  const { response, endpoint, id, body } = play.call;
  const isStream = play.status < 300 && isStreamRequested(endpoint, body);
  response.statusCode = play.status;
  response.setHeader(...idHeader(endpoint.format, id));
  response.setHeader('content-type', isStream ? STREAM_TYPE : 'application/json');
  if (isStream) response.setHeader('cache-control', 'no-cache');
  for (const [name, value] of Object.entries(play.headers)) response.setHeader(name, value);
}

/**
 * Waits for a callback of the response or for the client to disconnect, after which callbacks may
 * not come.
 */
function untilDone(play: Play, start: (done: () => void) => void): Promise<void> {
  if (play.left.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    play.wake = resolve;
    start(() => resolve());
  });
}
