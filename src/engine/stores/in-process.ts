import { z } from 'zod';
import { defineStore, type StoredItem } from './define.ts';

/** Items in this process's memory; they end with it. */
export const inProcess = defineStore({
  config: z.object({ type: z.literal('memory') }),
  async open() {
    /** In the order they were written last. */
    const items = new Map<string, StoredItem>();
    const keyOf = (namespace: string, key: string): string => JSON.stringify([namespace, key]);
    return {
      get: async (namespace, key) => items.get(keyOf(namespace, key)),
      async put(item, now) {
        const id = keyOf(item.namespace, item.key);
        const createdAt = items.get(id)?.createdAt ?? now;
        items.delete(id);
        items.set(id, { ...item, createdAt, updatedAt: now });
      },
      async delete(namespace, key) {
        items.delete(keyOf(namespace, key));
      },
      async scan(prefix, limit, offset) {
        const found = [...items.values()].filter(({ namespace }) => namespace.startsWith(prefix));
        return found.reverse().slice(offset, offset + limit);
      },
      async namespaces(prefix) {
        const found = [...items.values()].map(({ namespace }) => namespace).filter((name) => name.startsWith(prefix));
        return [...new Set(found)].sort();
      },
      close: () => items.clear(),
    };
  },
});
