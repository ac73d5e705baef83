import { connect, type Socket } from 'node:net';
import type { AttackBounds, AttackFigures, RunningAttack } from './attack.js';

/** Connections of one kind to one port of 127.0.0.1. */
export interface HeldGroup {
  readonly port: number;
  /** Number of concurrent connections. One that is closed or gets a response is opened again. */
  readonly connections: number;
  /** Delay after the start of the attack; default: none. */
  readonly afterMs?: number;
  /** First bytes to send; default: none. */
  readonly first?: string;
  readonly then?: SlowBytes;
  /** False: does not read the response. */
  readonly reads: boolean;
}

/** Sends the same bytes at each interval if the earlier ones were sent, and stops at `bytesMax`. */
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

/** Writes more bytes if the earlier ones have been sent. */
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
