// Finds regular expressions that may need more than linear time; part of `npm run lint`.
import { createRequire } from 'node:module';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { analyse } from 'scslre';
import { trackedFiles } from './citations.mjs';

// The compiler is a CommonJS module. It is used without types, because only few members are needed.
const ts = createRequire(import.meta.url)('typescript');

/** @typedef {{ readonly where: string, readonly source: string, readonly flags: string }} Pattern */

const CODE = /^(?:services|libs|tools|tests|deploy)\/.*\.(?:tsx?|[cm]?js)$/;
/** Files written by programs. */
const NOT_OURS = /(?:^|\/)(?:generated|goldens|dist)\//;
/** Files whose patterns only read text of the project's own tests, benchmarks and tools. */
const OWN_INPUT = /\.test\.tsx?$|\/(?:test|verify)\/|^(?:tests|tools\/check|deploy\/(?:docker|observe))\//;

/** Quadratic patterns for short texts, or for texts that no client sends, with reasons. */
const BOUNDED = new Map([
  [String.raw`libs/service-kit/src/telemetry/telemetry.ts \/+$`, 'a configured address'],
  [String.raw`services/accounts/src/mail/notice-rules.ts \/+$`, 'a configured address'],
  [String.raw`services/dashboard/src/operator-cli/operator-api.ts \/+$`, 'a configured address'],
  [String.raw`services/dashboard/src/people-api/models/edge-client.ts \/+$`, 'a configured address'],
  [String.raw`services/dashboard/src/people-api/settings.ts \/+$`, 'a configured address'],
  [String.raw`services/edge-proxy/src/upstream/source-entries.ts \/+$`, 'a configured address'],
  [String.raw`services/edge-proxy/src/credentials/entra.ts \/+$`, 'a configured address'],
  [String.raw`services/edge-proxy/src/config.ts \/+$`, 'a configured address'],
  [String.raw`tools/servers/src/resolve-server.ts \?.*$`, 'a configured address'],
  [
    String.raw`services/edge-proxy/src/pricing/reported-extras.ts ([a-z0-9_|]+)(\[[^\]]*\])?(?:\.|$)`,
    'a path of a profile, checked by the contract',
  ],
  [
    String.raw`libs/service-kit/src/network-address.ts ^([a-z][a-z0-9+.-]*:\/\/)((?:[^/?#]*@)?)([^/?#@]*)(.*)$`,
    'a configured address',
  ],
  [
    String.raw`services/catalog/src/objects/base-url-rules.ts \/+$`,
    "an operator's address of a provider, bounded by its schema",
  ],
  [String.raw`libs/metering/src/money.ts 0+$`, 'the digits of one amount'],
  [String.raw`services/dashboard/web/src/format/usd.ts 0+$`, 'the digits of one amount'],
  [String.raw`services/dashboard/src/people-api/sign-in/passwords.ts =+$`, 'base64 of a digest of ours'],
  [String.raw`libs/service-kit/src/network-address.ts \.+$`, 'a host, bounded by its schema'],
  [String.raw`libs/service-kit/src/config/read-secret.ts ^(.+?)\1+$`, 'a configured secret'],
  [String.raw`tools/provider-simulator/src/call/serve-call.ts ^bearer +(.*)$`, 'local simulator'],
  [String.raw`tools/testkit/src/slow-attack.ts connected:[^\d\n]*?(?:\x1b\[[\d;]*m)?\s*(\d+)`, 'output of a test tool'],
]);

/**
 * Returns all literals and `new RegExp` of constants in the tracked production code whose text is
 * known without running it.
 * @param {ReadonlyMap<string, string>} files texts of all tracked files by path from the root
 * @returns {Pattern[]}
 */
export function patternsOf(files) {
  const found = [];
  for (const [file, text] of files) {
    if (!CODE.test(file) || NOT_OURS.test(file) || OWN_INPUT.test(file)) continue;
    if (!text.includes('/') && !text.includes('RegExp')) continue;
    const program = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    const constants = new Map();
    const visit = (node) => {
      if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer !== undefined) {
        const value = textOf(node.initializer, constants);
        if (value !== null) constants.set(node.name.text, value);
      }
      const pattern = patternAt(node, constants);
      if (pattern !== null) found.push({ where: file, ...pattern });
      ts.forEachChild(node, visit);
    };
    visit(program);
  }
  return found;
}

function patternAt(node, constants) {
  if (ts.isRegularExpressionLiteral(node)) {
    const end = node.text.lastIndexOf('/');
    return { source: node.text.slice(1, end), flags: node.text.slice(end + 1) };
  }
  const isRegExp =
    (ts.isNewExpression(node) || ts.isCallExpression(node)) &&
    ts.isIdentifier(node.expression) &&
    node.expression.text === 'RegExp' &&
    node.arguments?.[0] !== undefined;
  if (!isRegExp) return null;
  const source = textOf(node.arguments[0], constants);
  return source === null ? null : { source, flags: textOf(node.arguments[1], constants) ?? '' };
}

/** Returns the text of a constant expression; null if it depends on anything else. */
function textOf(node, constants) {
  if (node === undefined) return null;
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isIdentifier(node)) return constants.get(node.text) ?? null;
  if (ts.isTaggedTemplateExpression(node)) {
    const raw = node.tag.getText() === 'String.raw';
    return raw ? templateOf(node.template, constants, 'rawText') : null;
  }
  if (ts.isTemplateExpression(node)) return templateOf(node, constants, 'text');
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    const [left, right] = [textOf(node.left, constants), textOf(node.right, constants)];
    return left === null || right === null ? null : left + right;
  }
  return null;
}

function templateOf(node, constants, form) {
  if (ts.isNoSubstitutionTemplateLiteral(node)) return node[form];
  let text = node.head[form];
  for (const { expression, literal } of node.templateSpans) {
    const value = textOf(expression, constants);
    if (value === null) return null;
    text += value + literal[form];
  }
  return text;
}

/**
 * Returns patterns of the documents that clients read. Operators enter no patterns; their searches
 * are plain text.
 * @param {string} root
 * @returns {Pattern[]}
 */
export function storedPatterns(root) {
  const folder = 'docs/api';
  return readdirSync(`${root}/${folder}`)
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => {
      const where = `${folder}/${name}`;
      const found = [];
      JSON.parse(readFileSync(`${root}/${where}`, 'utf8'), (key, value) => {
        if (key === 'pattern' && typeof value === 'string') found.push({ where, source: value, flags: '' });
        return value;
      });
      return found;
    });
}

/**
 * Lists patterns that backtrack more than linearly as `<file>: <pattern>: <kind>`.
 * @param {readonly Pattern[]} patterns
 * @returns {string[]}
 */
export function slowPatterns(patterns) {
  const kinds = new Map();
  const kindOf = ({ source, flags }) => {
    const key = `${flags} ${source}`;
    const known = kinds.get(key);
    if (known !== undefined) return known;
    const { reports } = analyse({ source, flags });
    const kind = reports.some((report) => report.exponential) ? 'exponential' : reports.length > 0 ? 'quadratic' : '';
    kinds.set(key, kind);
    return kind;
  };
  return patterns.flatMap((pattern) => {
    const { where, source } = pattern;
    const kind = BOUNDED.has(`${where} ${source}`) ? '' : kindOf(pattern);
    return kind === '' ? [] : [`${where}: ${source}: ${kind}`];
  });
}

/** Returns reasons of patterns that no longer exist or are no longer slow. */
export function unusedReasons(patterns) {
  const there = new Set(patterns.map(({ where, source }) => `${where} ${source}`));
  return [...BOUNDED.keys()].filter((key) => !there.has(key)).map((key) => `${key}: not found, remove its reason`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '');
  const ofCode = patternsOf(trackedFiles(root).files);
  const found = [...slowPatterns([...ofCode, ...storedPatterns(root)]), ...unusedReasons(ofCode)];
  for (const line of found) console.error(line);
  if (found.length > 0) process.exit(1);
}
