import { connectBus } from '@gateway/bus';
import type { Bus } from '@gateway/bus';
import type { LocalSystem } from '@gateway/local';

/** The author in the services' records. */
export const AUTHOR = {
  actor: 'bench',
  origin: { client: '127.0.0.1', agent: 'bench', requestId: 'bench' },
} as const;

/** Connects to the bus with the dashboard's permissions. */
export function connectOperator(system: LocalSystem): Promise<Bus> {
  const silent = () => undefined;
  return connectBus({
    url: system.addresses.natsUrlOf('dashboard'),
    service: 'dashboard',
    replica: 'bench',
    log: { info: silent, warn: silent, error: silent },
  });
}

/** Returns the response, or throws an error with the reason of the refusal. */
export function requireAccepted<T extends object>(answer: T): Exclude<T, { refused: unknown }> {
  if ('refused' in answer) throw new Error(`preparing the benchmark was refused: ${JSON.stringify(answer.refused)}`);
  return answer as Exclude<T, { refused: unknown }>;
}
