import type { LookupFunction } from 'node:net';
import { isPrivateAddress } from '../network-address.js';

/**
 * A configured address (of a source or a webhook) is private, and this deployment does not allow
 * that.
 */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError';

  /** @param address as written by the URL or the resolver */
  constructor(address: string) {
    super(`private address ${address}`);
  }
}

/**
 * Wraps a lookup so that it fails with {@link PrivateAddressError} if a name has a private address.
 * It checks the addresses that the socket connects to, at every connection, so that a later change
 * of the name's address has no effect. One private address refuses the name: it is not published by
 * accident, and skipping it would hide an attack.
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
