/** Opens things once and shares each between those that ask for the same one. */
export interface Sharing<Thing> {
  /**
   * A share in the thing of this key, which `open` makes where there is none. It is closed with its last share.
   *
   * @throws what `open` throws; the next to ask tries again.
   */
  acquire(key: string, open: () => Promise<Thing>): Promise<{ value: Thing; release(): Promise<void> }>;
  /** The things that are open. */
  readonly all: Thing[];
}

/** Makes an empty one. */
export function createSharing<Thing extends { close(): void | Promise<void> }>(): Sharing<Thing> {
  const shared = new Map<string, { thing: Promise<Thing>; ready: Thing | undefined; shares: number }>();
  return {
    get all() {
      return [...shared.values()].flatMap(({ ready }) => ready ?? []);
    },
    async acquire(key, open) {
      const entry = shared.get(key) ?? { thing: open(), ready: undefined, shares: 0 };
      shared.set(key, entry);
      entry.shares += 1;
      const forget = (): void => {
        if (shared.get(key) === entry) shared.delete(key);
      };
      let released = false;
      const release = async (): Promise<void> => {
        if (released) return;
        released = true;
        entry.shares -= 1;
        if (entry.shares > 0) return;
        forget();
        await (await entry.thing).close();
      };
      try {
        const value = await entry.thing;
        entry.ready = value;
        return { value, release };
      } catch (error) {
        forget();
        throw error;
      }
    },
  };
}
