/** Outboxes beside that of changes which wait for admission. */
export const MAIL_OUTBOX = 'mail_outbox';
/** Mails about signing in, beside those about alerts. */
export const NOTICE_TOPIC = 'notice';
export const BILLING_OUTBOX = 'billing_outbox';
