import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { AttackFigures } from './attack.js';
import type { AttackOrder } from './attack-main.js';

/** Always the compiled file, also if this file runs from `src`. */
const PROGRAM = fileURLToPath(
  new URL(
    import.meta.url.includes('/dist/') ? './attack-main.js' : '../../dist/src/strangers/attack-main.js',
    import.meta.url,
  ),
);
/** Time after the planned end until the attacker is killed. */
const LATE_MS_MAX = 20_000;

/** Runs an attack in a separate process. Returns null if the process ended without a result. */
export async function runAttack(order: AttackOrder, signal?: AbortSignal): Promise<AttackFigures | null> {
  const child = fork(PROGRAM, [JSON.stringify(order)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  let figures: AttackFigures | null = null;
  child.once('message', (message) => (figures = message as AttackFigures));
  const closed = once(child, 'close');
  const stop = (): void => {
    if (child.connected) child.disconnect();
  };
  signal?.addEventListener('abort', stop, { once: true });
  const late = setTimeout(() => child.kill('SIGKILL'), order.seconds * 1_000 + LATE_MS_MAX);
  await closed;
  clearTimeout(late);
  signal?.removeEventListener('abort', stop);
  return figures;
}
