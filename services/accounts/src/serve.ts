import { requestServer, type Bus } from '@gateway/bus';
import { faultOf } from '@gateway/postgres';

/** Serves at most so many requests of one message at once; a longer queue would only time out. */
export function doorsOf(bus: Bus, concurrencyMax: number): Bus['serve'] {
  return requestServer(bus, { faultOf, concurrencyMax });
}
