/** A checkpoint by its place: the namespace is empty for the graph itself and names the subgraph otherwise. */
export interface CheckpointName {
  readonly ns: string;
  readonly id: string;
}

/** Most checkpoints one pruning of a thread deletes. */
export const MOST_AT_ONCE = 500;

/** Length of the part of an id that is its time, in ticks of 100 ns: `1f0c5d2e-8a3b-6c41`. */
const TIME_LENGTH = 18;

/** A subgraph's namespace that is of one task alone: LangGraph puts the task's id behind its node's name. */
const OF_A_TASK = /:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?:\||$)/;

/**
 * Which of a thread's checkpoints may go, oldest first, so that its newest `keep` remain whole.
 *
 * Ids begin with the time they were made at. What a subgraph wrote for one task lies between the checkpoint of the graph
 * that asked for it and the next, so it goes with the former. A subgraph that remembers from call to call has a namespace
 * without a task, and keeps as many of its own.
 */
export function surplus(all: readonly CheckpointName[], keep: number, over: string | undefined): CheckpointName[] {
  const byNamespace = new Map<string, CheckpointName[]>();
  for (const name of all) {
    const list = byNamespace.get(name.ns);
    if (list === undefined) byNamespace.set(name.ns, [name]);
    else list.push(name);
  }
  const graph = newestFirst(byNamespace.get('') ?? []);
  const oldestKept = graph[Math.min(keep, graph.length) - 1];
  // The thread goes on somewhere before its newest checkpoint, perhaps far.
  if (oldestKept === undefined || graph[0]?.id === over) return [];
  const since = oldestKept.id.slice(0, TIME_LENGTH);
  const doomed = graph.slice(keep);
  for (const [ns, names] of byNamespace) {
    if (ns === '') continue;
    if (OF_A_TASK.test(ns)) doomed.push(...names.filter(({ id }) => id.slice(0, TIME_LENGTH) < since));
    else doomed.push(...newestFirst(names).slice(keep));
  }
  return newestFirst(doomed).reverse().slice(0, MOST_AT_ONCE);
}

function newestFirst(names: readonly CheckpointName[]): CheckpointName[] {
  return [...names].sort((left, right) => (left.id < right.id ? 1 : left.id > right.id ? -1 : 0));
}
