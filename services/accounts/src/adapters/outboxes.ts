/** Outboxes beside that of changes which wait for admission. */
export const MAIL_OUTBOX = 'mail_outbox';
export const BILLING_OUTBOX = 'billing_outbox';
