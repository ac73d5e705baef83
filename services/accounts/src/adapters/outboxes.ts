/** Outboxes beside that of changes which wait for admission. */
export const MAIL_OUTBOX = 'mail_outbox';
/** Mails about signing in, beside those about alerts. */
export const NOTICE_TOPIC = 'notice';
/** Sign-ups, which become one of those mails. */
export const SIGN_UP_TOPIC = 'sign_up';
export const BILLING_OUTBOX = 'billing_outbox';
