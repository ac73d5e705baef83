import { connect, type Socket } from 'node:net';
import type { AttackBounds, AttackFigures, RunningAttack } from './attack.js';

/** Connections of one form to one port of 127.0.0.1. */
export interface HeldGroup {
  readonly port: number;
  /** At one time; one that is closed or answered is made again. */
  readonly connections: number;
  /** After the start of the attack; absent: at once. */
  readonly afterMs?: number;
  /** Sent first; absent: nothing. */
  readonly first?: string;
  readonly then?: SlowBytes;
  /** False: no byte of the answer is taken. */
  readonly reads: boolean;
}

/**
 * The same bytes again and again, as far as the connection takes them, and silence after
 * `bytesMax`.
 */
export interface SlowBytes {
  readonly bytes: Buffer;
  readonly everyMs: number;
  readonly bytesMax: number;
}

interface Held {
  readonly socket: Socket;
  readonly group: HeldGroup;
  sent: number;
  sentAtMs: number;
}

const TICK_MS = 100;
/**
 * In a tick, until as many as wanted were made once; later only those that were closed are made
 * again.
 */
const FIRST_PER_TICK = 200;
const AGAIN_PER_TICK = 1;
const STATUS = /^HTTP\/1\.1 (\d{3})/;

/** Keeps the connections of these groups open until the time is over or it is stopped. */
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
    if (!group.reads) one.socket.pause();
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

/** What the connection has not taken yet is not added to. */
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
