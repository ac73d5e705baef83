import { z } from 'zod';

/** The services that keep a record of changes. */
export const AUDITED = ['accounts', 'catalog', 'billing'] as const;
export type Audited = (typeof AUDITED)[number];

/**
 * Where the list of one service is read on: the page that its last shown entry was on, and the
 * number of that entry. Entries with a higher number, which came meanwhile, are left out. `page`
 * null: its first page; `done`: nothing left.
 */
const position = z.object({
  page: z.string().max(1_000).nullable(),
  shown: z.int().min(0).nullable(),
  done: z.boolean(),
});
export type AuditPosition = z.infer<typeof position>;
export type AuditPositions = Readonly<Record<Audited, AuditPosition>>;

const positions = z.object({ accounts: position, catalog: position, billing: position });

/** Three cursors of services, and some JSON around them, in base64. */
export const AUDIT_CURSOR_CHARS_MAX = 6_000;

export const AUDIT_START: AuditPosition = { page: null, shown: null, done: false };

export function writeAuditCursor(at: AuditPositions): string {
  return Buffer.from(JSON.stringify(at)).toString('base64url');
}

/** Null: not one of ours. */
export function readAuditCursor(text: string): AuditPositions | null {
  try {
    const parsed = positions.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
