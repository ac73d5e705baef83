export { DEMO_PROVIDERS } from './demo/demo-catalog.js';
export { DEMO_MESSAGES, formatCurl, formatDemoRequests, formatPairs } from './demo/ready-text.js';
export { createOperatorRequest, DEMO_EMAIL, type DemoState, findDemoModel, seedDemo } from './demo/seed-demo.js';
export { startMailbox, type Mailbox } from './mailbox.js';
export { startMailboxPage, type MailboxPage } from './mailbox-page.js';
export { readMail, type ParsedEmail as ReadMail } from './read-mail.js';
