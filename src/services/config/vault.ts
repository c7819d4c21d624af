import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Encrypts secrets at rest. */
export interface Vault {
  /** The text encrypted; two sealings of one text differ. */
  seal(text: string): string;
  /** The text of a sealed one; anything else as it is. @throws when it was sealed with another key or tampered with. */
  open(text: string): string;
}

const PREFIX = 'sealed:v1:';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Makes the vault of a key of any length; AES-256-GCM. */
export function createVault(key: string): Vault {
  const secret = createHash('sha256').update(key).digest();
  return {
    seal(text) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', secret, iv);
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return PREFIX + Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64');
    },
    open(text) {
      if (!text.startsWith(PREFIX)) return text;
      const bytes = Buffer.from(text.slice(PREFIX.length), 'base64');
      const decipher = createDecipheriv('aes-256-gcm', secret, bytes.subarray(0, IV_BYTES));
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
    },
  };
}

/**
 * The key secrets are sealed with: SERVICE_SECRET_KEY, else the one in `path`, which is made at first use and readable
 * by its owner only.
 *
 * @param path undefined when nothing is kept, as with a database in memory.
 */
export function readSecretKey(configured: string | undefined, path: string | undefined): string {
  if (configured !== undefined) return configured;
  const fresh = randomBytes(32).toString('base64');
  if (path === undefined) return fresh;
  mkdirSync(dirname(path), { recursive: true });
  try {
    // Exclusive, so that of two processes that begin at once one makes the key and the other reads it.
    writeFileSync(path, `${fresh}\n`, { mode: 0o600, flag: 'wx' });
    return fresh;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return readFileSync(path, 'utf8').trim();
  }
}
