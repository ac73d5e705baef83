import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { packageSources, run } from './debian-base.mjs';

const PROXY_VARIABLES = ['http_proxy', 'https_proxy', 'no_proxy', 'all_proxy'].flatMap((name) => [
  name,
  name.toUpperCase(),
]);
const CERTIFICATE_VARIABLES = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'];
const NPM_SETTINGS = ['registry', 'cafile', 'proxy', 'https-proxy', 'noproxy', 'strict-ssl'];
const APT_SETTINGS = /^Acquire::(https?::(Proxy|CaInfo|CaPath|Verify-Peer)|Check-Valid-Until|Check-Date)\b/;
const OWN_CERTIFICATES = '/usr/local/share/ca-certificates';

/**
 * Copies this machine's network settings into the root at `place`: package sources, proxies,
 * certificates. They are read now and stored nowhere else. Returns the environment variables that
 * belong to them.
 */
export function copyNetworkSettings(place) {
  for (const file of ['/etc/resolv.conf', '/etc/hosts'])
    if (existsSync(file)) cpSync(file, `${place}${file}`, { dereference: true });
  writeFileSync(`${place}/etc/apt/sources.list`, `${packageSources().join('\n')}\n`);
  const apt = run('apt-config', ['dump'])
    .split('\n')
    .filter((line) => APT_SETTINGS.test(line));
  if (apt.length > 0) writeFileSync(`${place}/etc/apt/apt.conf.d/90network`, `${apt.join('\n')}\n`);
  copyCertificates(place);
  const npm = NPM_SETTINGS.map((name) => [name, run('npm', ['config', 'get', name], { cwd: '/' }).trim()]);
  const set = npm.filter(([, value]) => value !== 'null' && value !== 'undefined' && value !== '');
  mkdirSync(`${place}/usr/local/etc`, { recursive: true });
  writeFileSync(`${place}/usr/local/etc/npmrc`, set.map(([name, value]) => `${name}=${value}\n`).join(''));
  const env = Object.fromEntries(
    [...PROXY_VARIABLES, ...CERTIFICATE_VARIABLES].flatMap((name) =>
      process.env[name] ? [[name, process.env[name]]] : [],
    ),
  );
  for (const path of [set.find(([name]) => name === 'cafile')?.[1], ...CERTIFICATE_VARIABLES.map((name) => env[name])])
    if (path && existsSync(path)) copyIfMissing(path, place);
  return env;
}

function copyCertificates(place) {
  if (!existsSync(OWN_CERTIFICATES) || readdirSync(OWN_CERTIFICATES).length === 0) return;
  cpSync(OWN_CERTIFICATES, `${place}${OWN_CERTIFICATES}`, { recursive: true });
  run('chroot', [place, '/usr/sbin/update-ca-certificates']);
}

function copyIfMissing(path, place) {
  if (existsSync(`${place}${path}`)) return;
  mkdirSync(dirname(`${place}${path}`), { recursive: true });
  cpSync(path, `${place}${path}`, { recursive: true, dereference: true });
}
