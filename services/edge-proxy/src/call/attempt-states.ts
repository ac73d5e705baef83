/**
 * Where one try of one source is. `credential`: nothing was sent, the token or signature is waited
 * for. `head`: nothing of an answer has come. `error_body`: the text of
 * a refusal is read. `relay`: the answer goes to the client. `rest`: the try has its result, and
 * what its provider still sends is read so that the connection can be used again. `over`: the
 * source is not listened to any more.
 */
export type Phase = 'credential' | 'head' | 'error_body' | 'relay' | 'rest' | 'over';

/** What a try meets. */
export type AttemptEvent =
  // Of its credential.
  | 'authorized'
  // Of the source, or of its credential.
  | 'head'
  | 'data'
  | 'end'
  | 'failed'
  // Of the relay, while that has the body.
  | 'begun'
  | 'first_event'
  | 'kept_back'
  | 'ended'
  | 'incomplete'
  | 'provider_failed'
  | 'pause'
  // Of the client: it leaves, reads nothing for too long, reads again.
  | 'left'
  | 'stalled'
  | 'drained'
  // From outside, and by the limit that is set.
  | 'stopped'
  | 'expired';

/**
 * The phases that may follow on an event. An event that is absent changes nothing in that phase: it
 * comes late, or cannot come.
 */
type Transitions = Readonly<Partial<Record<AttemptEvent, readonly Phase[]>>>;

export const ATTEMPT_STATES: Readonly<Record<Phase, Transitions>> = {
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

/** Whether the event changes anything in this phase. */
export function isTaken(phase: Phase, event: AttemptEvent): boolean {
  return ATTEMPT_STATES[phase][event] !== undefined;
}
