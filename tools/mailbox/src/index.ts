export { startMailbox, type Mailbox } from './mailbox.js';
export { startMailboxPage, type MailboxPage } from './mailbox-page.js';
export { readMail, type ParsedEmail as ReadMail } from './read-mail.js';
