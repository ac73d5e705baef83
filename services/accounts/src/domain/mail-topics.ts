/** Mails about signing in, in the outbox of mails beside those about alerts. */
export const NOTICE_TOPIC = 'notice';
/** Sign-ups, which become one of those mails. */
export const SIGN_UP_TOPIC = 'sign_up';
