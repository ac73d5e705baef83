import { refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import { Composer, Lexer, LineCounter, Parser, type CST, type Document } from 'yaml';

/** Most alias uses in one document, so that a small text cannot expand to a large value. */
const ALIASES_MAX = 100;
/**
 * Deepest nesting, including the document itself; catalog objects need about twelve levels. The
 * YAML composer recurses per level. With far deeper input V8 was seen to end the process when it
 * compiled an expression near the end of the stack.
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
 * Returns the objects of a YAML text: `{objects: […]}`, a list, a single object with a kind, or
 * several documents of these. YAML 1.2 without custom tags, merge keys or non-string keys. Numbers
 * stay numbers, so amounts of money need quotes.
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
      // The JSON round trip turns the value into plain data. It throws on an alias inside its own
      // anchor, which would cause infinite loops later.
      const value = JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: ALIASES_MAX }))) as unknown;
      if (value !== null) found.push(value);
    }
    return { found };
  } catch {
    // Too many aliases, or an alias inside its own anchor.
    return { line: null };
  }
}

/**
 * Returns null if the text is nested too deeply. The parser keeps an explicit stack instead of
 * recursing, so it can be stopped in time.
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

/**
 * Returns the offset of the first problem. Includes warnings, because the library reports an
 * unknown tag only as a warning.
 */
function problemOf(document: Document.Parsed): number | null {
  const problem = document.errors[0] ?? document.warnings[0];
  return problem === undefined ? null : problem.pos[0];
}

/** Returns null if the value has none of the accepted forms. */
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
