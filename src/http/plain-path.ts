/** A path without the notations that could make it look like another. */
export function plainPath(url: string): string {
  let path = url.split(/[?#]/)[0] ?? '';
  try {
    path = decodeURIComponent(path);
  } catch {
    // As it stands, then.
  }
  return path.replace(/[\\/]+/g, '/').toLowerCase();
}
