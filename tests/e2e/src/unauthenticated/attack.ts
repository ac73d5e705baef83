import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { sendRequest, type RequestContent } from './send-request.js';

/** Facts that an attacker may know: ports of 127.0.0.1, and all that a new customer can see. */
export interface AttackTarget {
  readonly edgePort: number;
  readonly pagesPort: number;
  readonly operatorPort: number;
  readonly largeFile: string;
  /** A key of the attacker's account, and a model that it may use. */
  readonly secret: string;
  readonly modelId: string;
}

export interface AttackBounds {
  readonly seconds: number;
  /** Limit of concurrent connections for every kind. */
  readonly connectionsMax: number;
}

export interface AttackFigures {
  readonly connections: number;
  readonly connectionsMost: number;
  readonly answers: Readonly<Record<string, number>>;
}

export interface RunningAttack {
  /** Resolves when the attack is over or stopped. All its connections are closed then. */
  readonly ended: Promise<AttackFigures>;
  stop(): void;
}

export interface HeldGroup {
  readonly port: number;
  /** Number of concurrent connections. One that is closed or gets a response is opened again. */
  readonly connections: number;
  /** Delay after the start of the attack; default: none. */
  readonly afterMs?: number;
  readonly first?: string;
  /** Bytes to send at each interval if the earlier ones were sent, until `bytesMax` were sent. */
  readonly then?: { readonly bytes: Buffer; readonly everyMs: number; readonly bytesMax: number };
  readonly reads?: false;
}

export interface RepeatedRequests {
  readonly atOnce: number;
  /** Minimum interval between two requests of one connection. */
  readonly everyMs: number;
  readonly request: (n: number) => RequestContent;
}

interface Held {
  readonly socket: Socket;
  readonly group: HeldGroup;
  sent: number;
  sentAtMs: number;
}

const TICK_MS = 100;
/**
 * Connections to open per tick: many until the wanted number is reached for the first time, later
 * one to replace a closed one.
 */
const FIRST_PER_TICK = 200;
const AGAIN_PER_TICK = 1;
const STATUS = /^HTTP\/1\.1 (\d{3})/;

/** Keeps the connections of these groups open until the attack is over or stopped. */
export function holdConnections(groups: readonly HeldGroup[], bounds: AttackBounds): RunningAttack {
  const held = new Set<Held>();
  const answers: Record<string, number> = {};
  const made = groups.map(() => 0);
  let most = 0;
  const wanted = groups.reduce((sum, { connections }) => sum + connections, 0);
  const beganMs = performance.now();
  const share = Math.min(1, bounds.connectionsMax / wanted);

  const open = (group: HeldGroup): void => {
    const one: Held = { socket: connect(group.port, '127.0.0.1'), group, sent: 0, sentAtMs: performance.now() };
    held.add(one);
    one.socket.on('error', () => undefined);
    one.socket.once('close', () => held.delete(one));
    one.socket.once('connect', () => group.first !== undefined && one.socket.write(group.first));
    if (group.reads === false) one.socket.pause();
    else {
      one.socket.once('data', (chunk) => {
        const status = STATUS.exec(chunk.toString('latin1'))?.[1] ?? 'other';
        answers[status] = (answers[status] ?? 0) + 1;
        one.socket.resetAndDestroy();
      });
    }
  };
  const tick = (): void => {
    for (const [index, group] of groups.entries()) {
      if (performance.now() - beganMs < (group.afterMs ?? 0)) continue;
      const due = Math.max(1, Math.floor(group.connections * share));
      const isFirst = (made[index] ?? 0) < due;
      let now = [...held].filter((one) => one.group === group).length;
      for (let n = 0; n < (isFirst ? FIRST_PER_TICK : AGAIN_PER_TICK) && now < due; n += 1, now += 1) {
        open(group);
        made[index] = (made[index] ?? 0) + 1;
      }
    }
    for (const one of held) writeMore(one);
    most = Math.max(most, held.size);
  };

  const timer = setInterval(tick, TICK_MS);
  let stop = (): void => undefined;
  const ended = new Promise<AttackFigures>((resolve) => {
    stop = () => {
      clearTimeout(end);
      clearInterval(timer);
      for (const { socket } of held) socket.resetAndDestroy();
      resolve({ connections: made.reduce((sum, one) => sum + one, 0), connectionsMost: most, answers });
    };
    const end = setTimeout(() => stop(), bounds.seconds * 1_000);
  });
  tick();
  return { ended, stop: () => stop() };
}

function writeMore(one: Held): void {
  const { socket, group } = one;
  if (group.then === undefined || socket.connecting || socket.writableLength > 0 || !socket.writable) return;
  const { bytes, everyMs, bytesMax } = group.then;
  const nowMs = performance.now();
  if (nowMs - one.sentAtMs < everyMs || one.sent >= bytesMax) return;
  socket.write(bytes.subarray(0, bytesMax - one.sent));
  one.sent += Math.min(bytes.length, bytesMax - one.sent);
  one.sentAtMs = nowMs;
}

export function repeatRequests({ atOnce, everyMs, request }: RepeatedRequests, bounds: AttackBounds): RunningAttack {
  const connections = Math.min(atOnce, bounds.connectionsMax);
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const stopping = new AbortController();
  const answers: Record<string, number> = {};
  let n = 0;
  const worker = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const least = delay(everyMs);
      const { outcome } = await sendRequest({ ...request((n += 1)), agent, signal: stopping.signal });
      if (!stopping.signal.aborted) answers[outcome] = (answers[outcome] ?? 0) + 1;
      await least;
    }
  };
  const timer = setTimeout(() => stopping.abort(), bounds.seconds * 1_000);
  const ended = Promise.all(Array.from({ length: connections }, worker)).then(() => {
    clearTimeout(timer);
    agent.destroy();
    return { connections, connectionsMost: connections, answers };
  });
  return { ended, stop: () => stopping.abort() };
}
