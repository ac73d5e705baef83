/**
 * So long one of several addresses of a stranger's name is tried before the next one, in ms. Node's
 * own 250 ms give up an address that is far, one whose first packet was lost (it is sent again
 * after a second), and one whose answer waits for a busy process; where the next address cannot be
 * reached, as IPv6 in most containers, the host then counts as away.
 */
export const ADDRESS_ATTEMPT_MS = 1_200;
