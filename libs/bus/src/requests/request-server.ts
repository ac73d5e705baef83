import { MESSAGES } from '@gateway/contracts/messages';
import { isRefusal } from '@gateway/contracts/operator';
import { counter } from '@gateway/service-kit';
import { BusFault } from '../bus-fault.js';
import type { Bus } from '../bus.js';

/** The class of a handler's error: a code for the requester, or an error for the log only. */
export type HandlerFault = 'dependency_unavailable' | 'invalid_value' | { readonly logged: unknown };

export interface RequestServerOptions {
  readonly faultOf: (error: unknown) => HandlerFault;
  /**
   * Concurrent handlers of one message, unless its own options set another number. Default: as
   * `bus.serve`.
   */
  readonly concurrencyMax?: number;
}

/**
 * Returns a `serve` for services with a database. It counts each reply in
 * `gateway_<service>_requests_total` and maps database errors to codes.
 */
export function requestServer(
  bus: Pick<Bus, 'serve' | 'service'>,
  { faultOf, ...defaults }: RequestServerOptions,
): Bus['serve'] {
  const { service } = bus;
  const requests = counter(`gateway_${service}_requests_total`, 'Answered requests', {
    verb: MESSAGES.filter(({ kind, servedBy }) => kind === 'request' && servedBy.includes(service)).map(verbOf),
    outcome: ['answered', 'refused', 'fault'],
  });
  return (message, handler, options) => {
    const verb = verbOf(message);
    const counted: typeof handler = async (body) => {
      try {
        const answer = await handler(body);
        requests.of({ verb, outcome: isRefusal(answer) ? 'refused' : 'answered' }).add();
        return answer;
      } catch (error) {
        requests.of({ verb, outcome: 'fault' }).add();
        const fault = faultOf(error);
        if (typeof fault !== 'string') throw fault.logged;
        const what = fault === 'invalid_value' ? 'cannot store a value' : 'is unavailable';
        throw new BusFault(fault, `the database of ${service} ${what}`);
      }
    };
    bus.serve(message, counted, { ...defaults, ...options });
  };
}

function verbOf({ name }: { readonly name: string }): string {
  return name.slice(name.indexOf('.') + 1).replaceAll('-', '_');
}
