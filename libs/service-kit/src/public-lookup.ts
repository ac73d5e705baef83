import type { LookupFunction } from 'node:net';
import { isPrivateAddress } from './network-address.js';

/**
 * An address that somebody else names (a source's, a webhook's) is a private one, and this
 * deployment allows none.
 */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError';

  /** @param address as the URL or the resolver writes it */
  constructor(address: string) {
    super(`private address ${address}`);
  }
}

/**
 * A lookup for connections that fails with {@link PrivateAddressError} where a name has a private
 * address. It judges the very addresses that the socket then connects to, at every connection: a
 * name that changes its address after it was checked gains nothing. One private address refuses the
 * name, whatever else it has: nobody publishes such by accident, and leaving it out would hide that
 * somebody tries.
 */
export function publicLookup(lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, found, family) => {
      if (error) return callback(error, found, family);
      const addresses = typeof found === 'string' ? [found] : found.map(({ address }) => address);
      const refused = addresses.find(isPrivateAddress);
      if (refused === undefined) return callback(null, found, family);
      callback(new PrivateAddressError(refused), []);
    });
  };
}
