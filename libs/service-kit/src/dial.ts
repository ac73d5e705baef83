/**
 * Timeout in milliseconds for one of several addresses of a host before the next one is tried.
 * Node's default of 250 ms drops a distant address, an address whose first packet was lost (it is
 * sent again after a second), and one whose response waits for a busy process. If the next address
 * is unreachable, as IPv6 is in most containers, the host would then count as down.
 */
export const ADDRESS_ATTEMPT_MS = 1_200;
