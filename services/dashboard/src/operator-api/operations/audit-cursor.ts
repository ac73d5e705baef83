import { z } from 'zod';

/** The services that keep an audit log. */
export const AUDITED = ['accounts', 'catalog', 'billing'] as const;
export type Audited = (typeof AUDITED)[number];

/**
 * Where the list of one service continues: the page of its last shown entry, and the number of that
 * entry. Entries with a higher number arrived later and are skipped. `page` null: the first page;
 * `done`: no entries left.
 */
const position = z.object({
  page: z.string().max(1_000).nullable(),
  shown: z.int().min(0).nullable(),
  done: z.boolean(),
});
export type AuditPosition = z.infer<typeof position>;
export type AuditPositions = Readonly<Record<Audited, AuditPosition>>;

const positions = z.object({ accounts: position, catalog: position, billing: position });

/** Three service cursors and the JSON around them, in base64. */
export const AUDIT_CURSOR_CHARS_MAX = 6_000;

export const AUDIT_START: AuditPosition = { page: null, shown: null, done: false };

export function writeAuditCursor(at: AuditPositions): string {
  return Buffer.from(JSON.stringify(at)).toString('base64url');
}

/** Returns null if the text is not a cursor of this list. */
export function readAuditCursor(text: string): AuditPositions | null {
  try {
    const parsed = positions.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
