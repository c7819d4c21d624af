import { readdir, readFile } from 'node:fs/promises';
import type MiniSearch from 'minisearch';

/** A part of a document that a search found. */
export interface Passage {
  /** File the passage is from. */
  source: string;
  heading: string;
  text: string;
}

/** Full text search over the Markdown files of a folder. They are read at the first search, not before. */
export function createKnowledge(folder: URL) {
  let index: Promise<MiniSearch<Passage>> | undefined;

  /** The passages that fit `query` best, best first; empty when none has half of its words. */
  async function search(query: string, limit = 3): Promise<Passage[]> {
    index ??= buildIndex(folder);
    const found = await index;
    const words = new Set(
      query
        .toLowerCase()
        .match(/[\p{L}\p{N}]+/gu)
        ?.filter((word) => !STOP_WORDS.has(word)),
    );
    return found
      .search([...words].join(' '))
      .filter((hit) => hit.queryTerms.length * 2 >= words.size)
      .slice(0, limit)
      .map(({ source, heading, text }) => ({ source, heading, text }));
  }

  return { search };
}

async function buildIndex(folder: URL): Promise<MiniSearch<Passage>> {
  const { default: MiniSearch } = await import('minisearch');
  const index = new MiniSearch<Passage>({
    fields: ['heading', 'text'],
    storeFields: ['source', 'heading', 'text'],
    searchOptions: {
      boost: { heading: 3 },
      prefix: (word) => word.length > 3,
      fuzzy: (word) => word.length > 5 && 0.2,
    },
  });
  const files = (await readdir(folder)).filter((file) => file.endsWith('.md')).sort();
  const documents = await Promise.all(
    files.map(async (file) => passagesOf(file, await readFile(new URL(file, folder), 'utf8'))),
  );
  index.addAll(documents.flat().map((passage, id) => ({ id, ...passage })));
  return index;
}

/** Cuts a document at its headings. */
function passagesOf(source: string, markdown: string): Passage[] {
  return markdown.split(/^#+ /m).flatMap((part) => {
    const [heading = '', ...lines] = part.split('\n');
    const text = lines.join('\n').trim();
    return text === '' ? [] : [{ source, heading: heading.trim(), text }];
  });
}

const STOP_WORDS = new Set(
  `a about also am an and any are as at be by can could did do does find for from get give go has have how i if in
  into is it its just know let like look many me more much my no not of on or please search should show so some tell
  than that the their them then there these they this those to up use using want was we were what when where which
  who why will with work works would you your`.split(/\s+/),
);
