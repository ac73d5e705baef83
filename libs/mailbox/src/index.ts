export { startMailbox, type Mailbox, type MailboxOptions } from './mailbox.js';
