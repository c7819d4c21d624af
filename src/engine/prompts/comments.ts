/** Openings in a template and what closes them. */
const CLOSINGS: Readonly<Record<string, string>> = { '{{': '}}', '{%': '%}', '{#': '#}' };

/**
 * Turns each `{# comment #}` into a tag of the same length that does nothing, so that lines and columns stay as they are.
 * What lies in a raw block, in another tag or is never closed is left alone.
 */
export function maskComments(content: string): string {
  let masked = '';
  let copied = 0;
  let at = content.indexOf('{');
  while (at >= 0) {
    const closing = CLOSINGS[content.slice(at, at + 2)];
    const found = closing === undefined ? -1 : content.indexOf(closing, at + 2);
    // What is never closed ends the search: to look for its end again and again would take forever.
    if (closing !== undefined && found < 0) break;
    let end = closing === undefined ? at + 1 : found + 2;
    if (closing === '#}') {
      masked += `${content.slice(copied, at)}{%#${content.slice(at + 3, end - 2).replace(/[^\n]/g, ' ')}%}`;
      copied = end;
    } else if (closing === '%}' && /^\{%-?\s*raw\s*-?%\}$/.test(content.slice(at, Math.min(end, at + 64)))) {
      const rest = /\{%-?\s*endraw\s*-?%\}/g;
      rest.lastIndex = end;
      end = rest.exec(content) === null ? content.length : rest.lastIndex;
    }
    at = content.indexOf('{', end);
  }
  return masked + content.slice(copied);
}
