import { requestServer, type Bus, type RequestServerOptions } from '@gateway/bus';

/** Registers request handlers. Each kind limits the concurrent requests per message. */
export interface Handlers {
  readonly lookup: Bus['serve'];
  readonly change: Bus['serve'];
  /** For changes that wait for admission. */
  readonly awaited: Bus['serve'];
}

/**
 * Maximum concurrent requests per kind of message. They share a few database connections, and
 * requests in a longer queue would time out.
 */
const LOOKUPS_AT_ONCE_MAX = 256;
const CHANGES_AT_ONCE_MAX = 64;
/** Higher: most of the time these wait for admission and use no database connection. */
const AWAITED_AT_ONCE_MAX = 256;

/** Creates handlers on the bus, which validates requests. `faultOf` maps database errors. */
export function createHandlers(bus: Bus, faultOf: RequestServerOptions['faultOf']): Handlers {
  const serve = (concurrencyMax: number) => requestServer(bus, { faultOf, concurrencyMax });
  return {
    lookup: serve(LOOKUPS_AT_ONCE_MAX),
    change: serve(CHANGES_AT_ONCE_MAX),
    awaited: serve(AWAITED_AT_ONCE_MAX),
  };
}
