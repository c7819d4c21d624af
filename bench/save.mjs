import { readFileSync, writeFileSync } from 'node:fs';

const FILE = new URL('../docs/performance.md', import.meta.url);

/** Puts the report into the document, between the marks of this Node's major version. */
export function saveReport(text) {
  const major = process.versions.node.split('.')[0];
  const document = readFileSync(FILE, 'utf8');
  const place = new RegExp(`(<!-- bench node ${major} -->\n)[^]*?(<!-- end -->)`);
  if (!place.test(document)) throw new Error(`docs/performance.md has no place for Node ${major}`);
  writeFileSync(
    FILE,
    document.replace(place, (_, start, end) => `${start}\n${text}\n\n${end}`),
  );
}
