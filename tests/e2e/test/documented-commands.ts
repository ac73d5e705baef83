import { readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

export interface DocumentedCommand {
  readonly document: string;
  /** Without leading variables and without a trailing comment. */
  readonly command: string;
}

const PROGRAMS = 'npm|npx|node|curl|psql|pg_dump|pg_restore|docker|helm|kubectl|nats|redis-cli|promtool';
const COMMAND = new RegExp(`^(?:[A-Z_]+=\\S+ )*((?:${PROGRAMS}) \\S.*)$`);
const BLOCK = /^[ ]*```(\w*)\n([\s\S]*?)^[ ]*```/gm;
/** A command in running text, or only the name of a script. */
const SPAN = /`([^`\n]+)`/g;
const SCRIPT_ALONE = /^verify:[a-z]+$/;
const LEFT_OUT = new Set(['node_modules', 'dist', '.git', '.state', '.infra', '.cache']);

/**
 * Returns all Markdown files below a directory except third-party files, as paths from the root.
 */
export function documents(root: string): string[] {
  const below = (directory: string): string[] =>
    readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
      if (LEFT_OUT.has(entry.name)) return [];
      const path = join(directory, entry.name);
      return entry.isDirectory() ? below(path) : entry.name.endsWith('.md') ? [relative(root, path)] : [];
    });
  return below(root).sort();
}

/**
 * Returns the commands that a reader may paste: lines of shell blocks and commands in running text.
 */
export function commandsIn(root: string, document: string): DocumentedCommand[] {
  const text = readFileSync(join(root, document), 'utf8');
  const blocks = [...text.matchAll(BLOCK)].filter(([, language]) => language === '' || language === 'sh');
  const lines = blocks.flatMap(([, , body = '']) => body.replaceAll(/\\\n\s*/g, '').split('\n'));
  const spans = [...text.replaceAll(BLOCK, '').matchAll(SPAN)].map(([, span = '']) => span);
  const scripts = spans.filter((span) => SCRIPT_ALONE.test(span)).map((span) => `npm run ${span}`);
  return [...lines, ...spans, ...scripts]
    .flatMap((line) => line.split(' && '))
    .flatMap((line) => COMMAND.exec(line.replace(/\s+#.*$/, '').trim())?.[1] ?? [])
    .map((command) => ({ document, command }));
}
