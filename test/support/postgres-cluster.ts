import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';

/** Password of the only user, `tester`. Nothing may show it. */
export const PASSWORD = 'pg-hunter22';

const ROOT = process.getuid?.() === 0;
const DEBIAN = '/usr/lib/postgresql';
const LONGEST_MS = 120_000;

/** Folder of the newest installed PostgreSQL's programs. */
export function findPostgres(): string | undefined {
  if (!existsSync(DEBIAN)) return undefined;
  const versions = readdirSync(DEBIAN)
    .filter((version) => existsSync(join(DEBIAN, version, 'bin/initdb')))
    .sort((left, right) => Number(right) - Number(left));
  return versions[0] && join(DEBIAN, versions[0], 'bin');
}

/** Installs PostgreSQL where that is possible: on Debian and its kin, as root. */
export function installPostgres(): string | undefined {
  if (!ROOT || !existsSync('/usr/bin/apt-get')) return undefined;
  const apt = (...args: string[]): void => {
    execFileSync('apt-get', args, {
      stdio: 'ignore',
      timeout: LONGEST_MS,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  };
  try {
    // The package would start a server of its own.
    const conf = '/etc/postgresql-common/createcluster.conf';
    if (!existsSync(conf)) {
      mkdirSync(dirname(conf), { recursive: true });
      writeFileSync(conf, 'create_main_cluster = false\n');
    }
    apt('update');
    apt('install', '-y', '--no-install-recommends', 'postgresql');
  } catch {
    return undefined;
  }
  return findPostgres();
}

/** Runs one of PostgreSQL's programs; as the user `postgres` where we are root, which they refuse. */
function run(program: string, args: string[]): void {
  const [file, all] = ROOT ? ['runuser', ['-u', 'postgres', '--', program, ...args]] : [program, args];
  // Its output is not ours: the server that is started keeps it open.
  execFileSync(file as string, all as string[], { stdio: 'ignore', timeout: LONGEST_MS, cwd: '/' });
}

/** Makes a cluster in a new folder, not started yet. */
export function initCluster(bin: string, folder: string): void {
  mkdirSync(folder, { mode: 0o700 });
  const secret = join(folder, 'password');
  writeFileSync(secret, PASSWORD);
  if (ROOT) {
    const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres'])));
    // The folder above is root's alone.
    chmodSync(dirname(folder), 0o711);
    for (const path of [folder, secret]) chownSync(path, uid as number, gid as number);
  }
  const data = join(folder, 'data');
  const user = ['-U', 'tester', '-A', 'scram-sha-256', `--pwfile=${secret}`];
  run(join(bin, 'initdb'), ['-D', data, ...user, '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync']);
}

/** Makes a cluster that is not started yet speak TLS, with a certificate of its own for 127.0.0.1. @returns its path. */
export function addTls(folder: string): string {
  const [key, cert] = [join(folder, 'server.key'), join(folder, 'server.crt')];
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...subject];
  execFileSync('openssl', made, { stdio: 'ignore' });
  const { uid, gid } = statSync(join(folder, 'data'));
  for (const path of [key, cert]) {
    chownSync(path, uid, gid);
    chmodSync(path, 0o600);
  }
  const settings = `ssl = on\nssl_key_file = '${key}'\nssl_cert_file = '${cert}'\n`;
  appendFileSync(join(folder, 'data/postgresql.conf'), settings);
  return cert;
}

/** Starts a cluster. @param port 0 for a free one. @returns the port. */
export async function startCluster(bin: string, folder: string, port = 0): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const taken = port === 0 ? await closedPort() : port;
    const settings = `-p ${taken} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off`;
    const options = ['-D', join(folder, 'data'), '-l', join(folder, 'log'), '-o', settings, '-w', '-t', '60'];
    try {
      run(join(bin, 'pg_ctl'), [...options, 'start']);
      return taken;
    } catch (error) {
      // Somebody else may have been quicker on the port.
      if (attempt === 5) throw error;
    }
  }
}

/** Stops a cluster as a crash would. Does nothing where none runs. */
export function stopCluster(bin: string, folder: string): void {
  if (!existsSync(join(folder, 'data/postmaster.pid'))) return;
  run(join(bin, 'pg_ctl'), ['-D', join(folder, 'data'), '-m', 'immediate', '-w', 'stop']);
}

function closedPort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
