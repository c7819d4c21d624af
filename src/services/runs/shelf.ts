/** Keeps finished things for a while, within a bound. */
export interface Shelf<Item> {
  /** Puts an item on the shelf. */
  add(item: Item, bytes: number): void;
  /** Takes everything off. */
  clear(): void;
}

/** What a kept item costs besides its own bytes. */
const ITEM_BYTES = 1_024;

/**
 * Makes an empty shelf.
 *
 * @param options.maxBytes about how many bytes may lie there; the oldest go first.
 * @param options.keepMs how long an item stays.
 * @param options.drop hears of each item that went.
 */
export function createShelf<Item>(options: {
  maxBytes: number;
  keepMs: number;
  drop: (item: Item) => void;
}): Shelf<Item> {
  const items = new Set<{ item: Item; bytes: number; until: number }>();
  let total = 0;
  let timer: NodeJS.Timeout | undefined;

  const tidy = (): void => {
    const now = performance.now();
    for (const entry of items) {
      if (entry.until > now && total <= options.maxBytes) break;
      items.delete(entry);
      total -= entry.bytes;
      options.drop(entry.item);
    }
    const [oldest] = items;
    if (oldest === undefined || timer !== undefined) return;
    timer = setTimeout(
      () => {
        timer = undefined;
        tidy();
      },
      Math.max(1, oldest.until - now),
    );
    timer.unref();
  };

  return {
    add(item, bytes) {
      const cost = bytes + ITEM_BYTES;
      items.add({ item, bytes: cost, until: performance.now() + options.keepMs });
      total += cost;
      // Otherwise the timer sees to it.
      if (timer === undefined || total > options.maxBytes || options.keepMs === 0) tidy();
    },
    clear() {
      clearTimeout(timer);
      for (const entry of items) options.drop(entry.item);
      items.clear();
      total = 0;
    },
  };
}
