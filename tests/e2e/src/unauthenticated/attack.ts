import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { type AttackGroup, type AttackKind, ATTACKS, type AttackTarget } from './attacks.js';

export interface AttackOrder {
  readonly kind: AttackKind;
  readonly target: AttackTarget;
  readonly seconds: number;
  /** Limit of concurrent connections for every kind. */
  readonly connectionsMax: number;
}

export interface AttackFigures {
  readonly connections: number;
  /** Requests of groups that repeat them. */
  readonly requests: number;
  /** Responses by status. */
  readonly answers: Readonly<Record<string, number>>;
}

interface Connection {
  readonly socket: Socket;
  readonly group: AttackGroup;
  sent: number;
  sentAtMs: number;
}

const TICK_MS = 100;
/** Time without a response after which a repeated request is sent on a new connection. */
const RESPONSE_MS_MAX = 30_000;
/**
 * Connections to open per tick: many until the wanted number is reached for the first time, later
 * one to replace a closed one. Those that repeat requests are replaced at once.
 */
const FIRST_PER_TICK = 200;
const AGAIN_PER_TICK = 1;
const STATUS = /HTTP\/1\.1 (\d{3})/g;

/** Runs in the attacker, which ends when its parent does. Sends the figures to the parent. */
export async function attackForParent(json: string): Promise<void> {
  const { kind, target, seconds, connectionsMax } = JSON.parse(json) as AttackOrder;
  const groups: readonly AttackGroup[] = ATTACKS[kind](target);
  const open = new Set<Connection>();
  const answers: Record<string, number> = {};
  const made = groups.map(() => 0);
  const beganMs = performance.now();
  const share = Math.min(1, connectionsMax / groups.reduce((sum, { connections }) => sum + connections, 0));
  let requests = 0;

  const connectOne = (group: AttackGroup): void => {
    const { port, first, repeat, reads = true } = group;
    const socket = connect(port, '127.0.0.1');
    const one: Connection = { socket, group, sent: 0, sentAtMs: performance.now() };
    const request = (): void => {
      const text = repeat?.request((requests += 1)) ?? first;
      one.sentAtMs = performance.now();
      if (text !== undefined && socket.writable) socket.write(text);
    };
    open.add(one);
    socket.on('error', () => undefined);
    socket.once('close', () => open.delete(one));
    socket.once('connect', request);
    if (!reads) return void socket.pause();
    socket.on('data', (chunk) => {
      for (const [, status = ''] of chunk.toString('latin1').matchAll(STATUS)) {
        answers[status] = (answers[status] ?? 0) + 1;
        if (repeat !== undefined) setTimeout(request, repeat.everyMs - (performance.now() - one.sentAtMs));
      }
      if (repeat === undefined) socket.resetAndDestroy();
    });
  };
  const tick = (): void => {
    for (const [index, group] of groups.entries()) {
      if (performance.now() - beganMs < (group.afterMs ?? 0)) continue;
      const due = Math.max(1, Math.floor(group.connections * share));
      const isFirst = (made[index] ?? 0) < due || group.repeat !== undefined;
      let now = [...open].filter((one) => one.group === group).length;
      for (let n = 0; n < (isFirst ? FIRST_PER_TICK : AGAIN_PER_TICK) && now < due; n += 1, now += 1) {
        connectOne(group);
        made[index] = (made[index] ?? 0) + 1;
      }
    }
    for (const one of open) {
      writeMore(one);
      const isLate = performance.now() - one.sentAtMs > RESPONSE_MS_MAX;
      if (one.group.repeat !== undefined && isLate) one.socket.resetAndDestroy();
    }
  };

  tick();
  const timer = setInterval(tick, TICK_MS);
  await Promise.race([once(process, 'disconnect'), new Promise((resolve) => setTimeout(resolve, seconds * 1_000))]);
  clearInterval(timer);
  for (const { socket } of open) socket.resetAndDestroy();
  const connections = made.reduce((sum, one) => sum + one, 0);
  const figures: AttackFigures = { connections, requests, answers };
  if (process.connected) process.send?.(figures, undefined, undefined, () => process.disconnect());
}

function writeMore(one: Connection): void {
  const { socket, group } = one;
  if (group.then === undefined || socket.connecting || socket.writableLength > 0 || !socket.writable) return;
  const { bytes, everyMs, bytesMax } = group.then;
  const nowMs = performance.now();
  if (nowMs - one.sentAtMs < everyMs || one.sent >= bytesMax) return;
  socket.write(bytes.subarray(0, bytesMax - one.sent));
  one.sent += Math.min(bytes.length, bytesMax - one.sent);
  one.sentAtMs = nowMs;
}

/** Always the compiled file, also if this file runs from `src`. */
const PROGRAM = fileURLToPath(
  new URL(import.meta.url.includes('/dist/') ? '../main.js' : '../../dist/src/main.js', import.meta.url),
);
/** Time after the planned end until the attacker is killed. */
const LATE_MS_MAX = 20_000;

/**
 * Runs an attack in a separate process, so that it does not slow down the valid load. Returns null
 * if the process ended without a result.
 */
export async function runAttack(order: AttackOrder): Promise<AttackFigures | null> {
  const child = fork(PROGRAM, ['attack', JSON.stringify(order)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  let figures: AttackFigures | null = null;
  child.once('message', (message) => (figures = message as AttackFigures));
  const late = setTimeout(() => child.kill('SIGKILL'), order.seconds * 1_000 + LATE_MS_MAX);
  await once(child, 'close');
  clearTimeout(late);
  return figures;
}
