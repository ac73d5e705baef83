import { existsSync } from 'node:fs';
import { run } from './debian-base.mjs';
import { expect } from './results.mjs';

const INSTALL_LIMIT_MS = 600_000;
const SOURCE = '/var/source';
const LOG_LINES = 30;

/** Copies the source into the root: the last commit as a bundle, or the files of the checkout. */
export function placeSource(repository, root, { 'working-tree': workingTree }) {
  const git = (...args) => run('git', ['-C', repository, ...args]);
  const commit = git('rev-parse', '--short', 'HEAD').trim();
  run('mkdir', [root.path(SOURCE)]);
  if (!workingTree) {
    git('bundle', 'create', '--quiet', root.path(`${SOURCE}/gateway.bundle`), 'HEAD');
    const changed = git('status', '--porcelain').split('\n').filter(Boolean).length;
    return {
      text: `commit ${commit}${changed > 0 ? ` (${changed} changed files of the checkout are not in it)` : ''}`,
      clone: true,
    };
  }
  const files = git('ls-files', '-z', '--cached', '--others', '--exclude-standard').split('\0').filter(Boolean);
  const present = files.filter((file) => existsSync(`${repository}/${file}`));
  const list = { cwd: repository, input: present.join('\0') };
  run('tar', ['-cf', root.path(`${SOURCE}/gateway.tar`), '--null', '--no-recursion', '-T', '-'], list);
  return { text: `the files of the checkout, based on commit ${commit}`, clone: false };
}

/** One checkout of one user: a fresh clone in which the README's commands run. */
export class Checkout {
  constructor(root, user, source, name) {
    this.root = root;
    this.user = user;
    this.source = source;
    this.path = `${user.home}/${name}`;
    this.state = `${this.path}/.state`;
    /** Costs of this checkout's requests so far, in nano-USD. */
    this.spentNanoUsd = 0n;
  }

  async clone() {
    const { root, user, source, path } = this;
    const commands = source.clone
      ? [['git', 'clone', '--quiet', `${SOURCE}/gateway.bundle`, path]]
      : [
          ['mkdir', path],
          ['tar', '-C', path, '--no-same-owner', '-xf', `${SOURCE}/gateway.tar`],
        ];
    for (const command of commands) {
      const { code, output } = await root.command(user, '/', command);
      expect(code === 0, `"${command[0]} ${command[1]}" to succeed`, output);
    }
    return 'done';
  }

  async install() {
    const { code, output } = await this.command(['npm', 'ci'], { limitMs: INSTALL_LIMIT_MS });
    expect(
      code === 0,
      '"npm ci" to end with 0',
      `${output.split('\n').slice(0, LOG_LINES).join('\n')}\n…\n${lastLines(output)}`,
    );
    return `${this.megabytes(this.path)} MB, npm's cache ${this.megabytes(`${this.user.home}/.npm`)} MB`;
  }

  command(command, options) {
    return this.root.command(this.user, this.path, command, options);
  }

  megabytes(inside) {
    return Number.parseInt(run('du', ['-sm', this.root.path(inside)]), 10);
  }
}

export function lastLines(text, count = LOG_LINES) {
  return text.trimEnd().split('\n').slice(-count).join('\n');
}
