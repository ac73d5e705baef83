import { type Bus, BusFault } from '@gateway/bus';
import { isConnectionFault, isValueFault } from '@gateway/postgres';

/**
 * The bus for handlers that read and write the ledger's database: a database that is away, or that cannot store a value of the request,
 * is told as such. Any other fault stays in the log of the bus.
 */
export function withStoreFaults<B extends Pick<Bus, 'serve'>>(bus: B): B {
  const serve: Bus['serve'] = (message, handler, options) =>
    bus.serve(
      message,
      async (body) => {
        try {
          return await handler(body);
        } catch (error) {
          throw storeFaultOf(error);
        }
      },
      options,
    );
  return { ...bus, serve };
}

function storeFaultOf(error: unknown): unknown {
  if (isConnectionFault(error)) return new BusFault('dependency_unavailable', 'the database of billing is away');
  if (isValueFault(error)) return new BusFault('invalid_value', 'the database of billing cannot store a value');
  return error;
}
