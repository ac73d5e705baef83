import { requestServer, type Bus, type RequestServerOptions } from '@gateway/bus';

/**
 * Registers handlers of requests. Each kind has a bound of requests of one message that run at
 * once.
 */
export interface Handlers {
  readonly lookup: Bus['serve'];
  readonly change: Bus['serve'];
  /** For changes that wait for admission. */
  readonly awaited: Bus['serve'];
}

/**
 * Requests of one message at once; they share a few connections, and a longer queue would only time
 * out.
 */
const LOOKUPS_AT_ONCE_MAX = 256;
const CHANGES_AT_ONCE_MAX = 64;
/**
 * More than of other changes: most of their time they wait for admission, which holds no
 * connection.
 */
const AWAITED_AT_ONCE_MAX = 256;

/**
 * Handlers on the bus, which has validated what they get. `faultOf` names the faults of the
 * database.
 */
export function createHandlers(bus: Bus, faultOf: RequestServerOptions['faultOf']): Handlers {
  const serve = (concurrencyMax: number) => requestServer(bus, { faultOf, concurrencyMax });
  return {
    lookup: serve(LOOKUPS_AT_ONCE_MAX),
    change: serve(CHANGES_AT_ONCE_MAX),
    awaited: serve(AWAITED_AT_ONCE_MAX),
  };
}
