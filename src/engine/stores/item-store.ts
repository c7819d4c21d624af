import {
  BaseStore,
  InvalidNamespaceError,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchOperation,
} from '@langchain/langgraph-checkpoint';
import type { ItemTable, StoredItem } from './define.ts';
import { matches } from './filter.ts';

/** Items that are read at a time when a search has a filter. */
const PAGE = 200;

/**
 * LangGraph's long-term store over a table. The published stores are not used: they look for namespaces by the beginning
 * of a joined text, so that a search under `users, 1` also finds what belongs to `users, 10`.
 *
 * Operations of one batch are done in their order. There is no search by meaning.
 */
export class ItemStore extends BaseStore {
  readonly #table: ItemTable;

  constructor(table: ItemTable) {
    super();
    this.#table = table;
  }

  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const results: unknown[] = [];
    for (const operation of operations) results.push(await this.#do(operation));
    return results as OperationResults<Op>;
  }

  async #do(operation: Operation): Promise<unknown> {
    if ('namespacePrefix' in operation) return this.#search(operation);
    if ('value' in operation) return this.#put(operation);
    if ('key' in operation) {
      const item = await this.#table.get(encode(operation.namespace), operation.key);
      return item === undefined ? null : toItem(item);
    }
    return this.#listNamespaces(operation);
  }

  async #put({ namespace, key, value }: PutOperation): Promise<void> {
    const place = encode(namespace);
    if (namespace.length === 0) throw new InvalidNamespaceError('Namespace cannot be empty.');
    if (namespace[0] === 'langgraph')
      throw new InvalidNamespaceError('Root label for namespace cannot be "langgraph".');
    if (value === null) await this.#table.delete(place, key);
    else await this.#table.put({ namespace: place, key, value: JSON.stringify(value) }, Date.now());
  }

  async #search({ namespacePrefix, filter, limit = 10, offset = 0, query }: SearchOperation): Promise<Item[]> {
    if (query !== undefined && query !== '') {
      throw new Error('This store has no search by meaning: leave "query" out, and use "filter".');
    }
    const prefix = encode(namespacePrefix);
    if (filter === undefined || Object.keys(filter).length === 0) {
      return (await this.#table.scan(prefix, limit, offset)).map(toItem);
    }
    const found: Item[] = [];
    for (let at = 0; ; at += PAGE) {
      const page = await this.#table.scan(prefix, PAGE, at);
      found.push(...page.map(toItem).filter(({ value }) => matches(value, filter)));
      if (page.length < PAGE || found.length >= offset + limit) return found.slice(offset, offset + limit);
    }
  }

  async #listNamespaces(operation: ListNamespacesOperation): Promise<string[][]> {
    const { matchConditions = [], maxDepth, limit = 100, offset = 0 } = operation;
    const start = matchConditions.find(({ matchType }) => matchType === 'prefix')?.path ?? [];
    const wildcard = start.indexOf('*');
    const all = await this.#table.namespaces(encode(wildcard < 0 ? start : start.slice(0, wildcard)));
    const shown = all
      .map(decode)
      .filter((labels) => matchConditions.every((condition) => fits(labels, condition)))
      .map((labels) => encode(maxDepth === undefined ? labels : labels.slice(0, maxDepth)));
    return [...new Set(shown)].slice(offset, offset + limit).map(decode);
  }
}

function encode(labels: readonly string[]): string {
  for (const label of labels) {
    if (typeof label !== 'string' || label === '' || label.includes('.')) {
      throw new InvalidNamespaceError('Namespace labels must be texts that are not empty and contain no period.');
    }
  }
  return labels.map((label) => `${label}.`).join('');
}

function decode(namespace: string): string[] {
  return namespace.split('.').slice(0, -1);
}

function fits(labels: readonly string[], { matchType, path }: MatchCondition): boolean {
  if (path.length > labels.length) return false;
  const from = matchType === 'prefix' ? 0 : labels.length - path.length;
  return path.every((wanted, at) => wanted === '*' || wanted === labels[from + at]);
}

function toItem({ namespace, key, value, createdAt, updatedAt }: StoredItem): Item {
  return {
    namespace: decode(namespace),
    key,
    value: JSON.parse(value) as Item['value'],
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
  };
}
