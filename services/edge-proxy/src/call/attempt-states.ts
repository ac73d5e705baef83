/**
 * The phase of one attempt.
 * - `credential`: nothing was sent; the attempt waits for a token or signature.
 * - `head`: no response head has arrived.
 * - `error_body`: the body of an error response is read.
 * - `relay`: the response is relayed to the client.
 * - `rest`: the attempt has its result; trailing bytes are read so that the connection can be
 * reused.
 * - `over`: events of the source are ignored.
 */
export type AttemptPhase = 'credential' | 'head' | 'error_body' | 'relay' | 'rest' | 'over';

/** Events of an attempt. */
export type AttemptEvent =
  // From the credential.
  | 'authorized'
  // From the source or the credential.
  | 'head'
  | 'data'
  | 'end'
  | 'failed'
  // From the relay while it has the body.
  | 'begun'
  | 'first_event'
  | 'kept_back'
  | 'ended'
  | 'incomplete'
  | 'provider_failed'
  | 'pause'
  // From the client: it leaves, reads nothing for too long, or reads again.
  | 'left'
  | 'stalled'
  | 'drained'
  // From outside, and from the active limit.
  | 'stopped'
  | 'expired';

/**
 * The possible next phases for each event. An event without an entry has no effect in that phase:
 * it comes late, or cannot occur.
 */
type Transitions = Readonly<Partial<Record<AttemptEvent, readonly AttemptPhase[]>>>;

export const ATTEMPT_STATES: Readonly<Record<AttemptPhase, Transitions>> = {
  credential: {
    authorized: ['head'],
    failed: ['over'],
    left: ['over'],
    stopped: ['over'],
    expired: ['over'],
  },
  head: {
    head: ['error_body', 'relay', 'rest'],
    failed: ['over'],
    left: ['head', 'over'],
    stopped: ['over'],
    expired: ['over'],
  },
  error_body: {
    data: ['error_body', 'rest'],
    end: ['over'],
    failed: ['over'],
    stopped: ['over'],
    expired: ['rest'],
  },
  relay: {
    data: ['relay', 'rest', 'over'],
    end: ['over'],
    failed: ['over'],
    begun: ['relay'],
    first_event: ['relay'],
    kept_back: ['relay'],
    ended: ['rest', 'over'],
    incomplete: ['over'],
    provider_failed: ['relay', 'over'],
    pause: ['relay'],
    left: ['relay', 'over'],
    stalled: ['over'],
    drained: ['relay'],
    stopped: ['over'],
    expired: ['over'],
  },
  rest: {
    data: ['rest', 'over'],
    end: ['over'],
    failed: ['over'],
    stalled: ['over'],
    drained: ['rest'],
    expired: ['over'],
  },
  over: {
    drained: ['over'],
  },
};

/** Whether the event has an effect in this phase. */
export function isTaken(phase: AttemptPhase, event: AttemptEvent): boolean {
  return ATTEMPT_STATES[phase][event] !== undefined;
}
