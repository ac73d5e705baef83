// `node deploy/docker/stand-ins.mjs [DIRECTORY] [--engine NAME]`: for machines that reach no image
// registry. Makes stand-ins for the images of images.yaml that the engine neither has nor can pull,
// from Debian's packages, npm's package of Node and the Go modules of NATS, Caddy and the
// collector, with the entry points of the official images. Each has the label gateway.stand-in.
// Needs root, debootstrap, npm and Go. DIRECTORY (default .infra/stand-ins) keeps the fetched
// files.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { findEngine } from './engine.mjs';
import { ROOT, readImages } from './recipe.mjs';

const DEBIAN = 'localhost/gateway-stand-in/debian:bookworm';
/** Of the machine: the CAs and sources with which packages are fetched. */
const OF_MACHINE = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/apt/sources.list.d/debian.sources',
  '/etc/apt/apt.conf.d',
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { engine: { type: 'string' }, network: { type: 'string', default: 'host' } },
});
const engine = findEngine(values.engine);
if (engine === null) {
  console.error('no engine responds');
  process.exit(3);
}
const directory = resolve(positionals[0] ?? join(ROOT, '.infra/stand-ins'));
const images = readImages();
const versionOf = (name) => /:v?(\d+\.\d+\.\d+)/.exec(images[name])?.[1];

/** Targets of stand-ins.Dockerfile. */
const STAND_INS = ['node', 'postgres', 'nats', 'redis', 'caddy', 'prometheus', 'alertmanager', 'collector'];

mkdirSync(directory, { recursive: true });
cpSync(join(ROOT, 'deploy/docker/stand-in.sh'), join(directory, 'stand-in.sh'));
for (const [name, image] of Object.entries(images)) {
  if (engine.has(image)) console.log(`${image}: is there`);
  else if (STAND_INS.includes(name)) make(name, image);
  else console.log(`${image}: not there, cannot be pulled, and has no stand-in`);
}

function make(name, image) {
  if (!engine.has(DEBIAN)) importDebian();
  // Some builders run all stages of the file.
  fetchNode(versionOf('node'));
  compile('nats', `github.com/nats-io/nats-server/v2@v${versionOf('nats')}`);
  compile('caddy', `github.com/caddyserver/caddy/v2/cmd/caddy@v${versionOf('caddy')}`);
  fetchCollector(versionOf('collector'));
  const [file, context] = [join(ROOT, 'deploy/docker/stand-ins.Dockerfile'), directory];
  engine.build({ file, context, target: name, tag: image, args: { DEBIAN }, network: values.network });
  console.log(`${image}: stand-in`);
}

/** Makes the one base of all stand-ins. */
function importDebian() {
  const root = join(directory, 'debian');
  const archive = join(directory, 'debian.tar');
  if (!existsSync(archive)) {
    rmSync(root, { recursive: true, force: true });
    run('debootstrap', ['--variant=minbase', '--include=ca-certificates,libstdc++6', 'bookworm', root]);
    for (const path of OF_MACHINE)
      if (existsSync(path)) cpSync(path, join(root, path), { recursive: true, dereference: true });
    run('tar', ['-C', root, '--exclude=./var/cache/apt/archives/*.deb', '-cf', archive, '.']);
    rmSync(root, { recursive: true });
  }
  engine.import(archive, DEBIAN);
}

/** Fetches the program of Node from npm's package, and takes npm itself from this machine. */
function fetchNode(version) {
  const home = join(directory, 'node');
  if (existsSync(join(home, 'bin/node'))) return;
  run('npm', ['pack', '--silent', `node-linux-${process.arch}@${version}`, '--pack-destination', directory]);
  const [archive] = readdirSync(directory).filter((file) => file.startsWith('node-linux-'));
  mkdirSync(home, { recursive: true });
  run('tar', ['-C', home, '--strip-components=1', '-xf', join(directory, archive), 'package/bin/node']);
  const npm = run('npm', ['root', '--global'], 'pipe').trim();
  cpSync(join(npm, 'npm'), join(home, 'lib/node_modules/npm'), { recursive: true });
}

/** Compiles the program of a Go module to a folder. */
function compile(name, module) {
  const GOBIN = join(directory, name);
  if (!existsSync(GOBIN)) run('go', ['install', module], 'inherit', { GOBIN, CGO_ENABLED: '0' });
}

/** Compiles a collector with the components of deploy/observe/collector.yaml. */
function fetchCollector(version) {
  if (existsSync(join(directory, 'collector/otelcol-contrib'))) return;
  const [core, contrib] = [
    'go.opentelemetry.io/collector',
    'github.com/open-telemetry/opentelemetry-collector-contrib',
  ];
  const list = (...paths) => paths.map((path) => ({ gomod: `${path} v${version}` }));
  const components = {
    dist: { name: 'otelcol-contrib', version, output_path: join(directory, 'collector') },
    receivers: list(`${core}/receiver/otlpreceiver`),
    processors: list(`${core}/processor/memorylimiterprocessor`, `${core}/processor/batchprocessor`),
    connectors: list(`${contrib}/connector/spanmetricsconnector`),
    exporters: list(`${core}/exporter/debugexporter`, `${contrib}/exporter/prometheusexporter`),
  };
  writeFileSync(join(directory, 'collector.yaml'), JSON.stringify(components));
  run('go', ['run', `${core}/cmd/builder@v${version}`, '--config', 'collector.yaml'], 'inherit', { CGO_ENABLED: '0' });
}

function run(program, args, stdout = 'inherit', env = {}) {
  const stdio = ['ignore', stdout, 'inherit'];
  return execFileSync(program, args, { stdio, encoding: 'utf8', env: { ...process.env, ...env }, cwd: directory });
}
