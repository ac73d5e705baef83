import { refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import { Composer, Lexer, LineCounter, Parser, type CST, type Document } from 'yaml';

/** Uses of anchors in one document, so that a small text cannot become a large value. */
const ALIASES_MAX = 100;
/**
 * Open constructs, the document itself among them; objects need about a dozen. The composer calls
 * itself for each: far beyond, V8 was seen to end the process when it had to compile an expression
 * at the end of its stack.
 */
const DEPTH_MAX = 64;

const OPTIONS = {
  version: '1.2',
  schema: 'core',
  merge: false,
  uniqueKeys: true,
  stringKeys: true,
  strict: true,
  prettyErrors: false,
  logLevel: 'silent',
} as const;

/**
 * The objects of a YAML text: `{objects: […]}`, a plain list, one object with a kind, and several
 * documents of these. YAML 1.2 without tags of its own, merges or keys that are no strings; a
 * number stays a number, so money needs quotes.
 */
export function readDocument(text: string): { value: unknown } | ManagementRefusal {
  const values = parse(text);
  if ('line' in values) {
    const where = values.line === null ? '' : ` (line ${values.line})`;
    return refuse('invalid_request', `the body is not valid YAML${where}`);
  }
  if (values.found.length === 0) return refuse('invalid_request', 'the document is empty');
  if (values.found.length === 1 && !isListOrObject(values.found[0])) return { value: values.found[0] };
  const lists = values.found.map(objectsOf);
  const wrong = lists.findIndex((list) => list === null);
  if (wrong < 0) return { value: { objects: lists.flat() } };
  if (values.found.length === 1) return { value: values.found[0] };
  return refuse('invalid_request', `document ${wrong + 1} holds neither objects nor a list of them`);
}

function parse(text: string): { found: unknown[] } | { line: number | null } {
  const lines = new LineCounter();
  const tokens = tokensOf(text, lines);
  if (tokens === null) return { line: null };
  try {
    const found: unknown[] = [];
    for (const document of new Composer({ ...OPTIONS, customTags: [] }).compose(tokens)) {
      const problem = problemOf(document);
      if (problem !== null) return { line: lines.linePos(problem).line };
      // Through JSON, so that what follows is plain data: an alias inside of what it names would go
      // round for ever.
      const value = JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: ALIASES_MAX }))) as unknown;
      if (value !== null) found.push(value);
    }
    return { found };
  } catch {
    // Too many aliases, or one inside of what it names.
    return { line: null };
  }
}

/**
 * Null: nested too deeply. The parser is a machine with a stack of its own and can be stopped in
 * time.
 */
function tokensOf(text: string, lines: LineCounter): CST.Token[] | null {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  const tokens: CST.Token[] = [];
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    if (parser.stack.length > DEPTH_MAX) return null;
  }
  tokens.push(...parser.end());
  return tokens;
}

/** Where the first problem is; a tag that is not known is only a warning to the library. */
function problemOf(document: Document.Parsed): number | null {
  const problem = document.errors[0] ?? document.warnings[0];
  return problem === undefined ? null : problem.pos[0];
}

/** Null: none of the shapes. */
function objectsOf(value: unknown): unknown[] | null {
  if (Array.isArray(value)) return value;
  if (typeof value !== 'object' || value === null) return null;
  if ('kind' in value) return [value];
  const members = Object.keys(value);
  const objects = (value as { objects?: unknown }).objects;
  return members.length === 1 && Array.isArray(objects) ? objects : null;
}

function isListOrObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
