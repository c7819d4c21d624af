import { agent } from './agent.ts';
import type { CollectionKind, ConfigRecord, ResourceKind, SingletonKind } from './define.ts';
import { guardrails } from './guardrails.ts';
import { integrations } from './integrations.ts';
import { mcpServers } from './mcp-servers.ts';
import { memory } from './memory.ts';
import { observability } from './observability.ts';
import { prompts } from './prompts.ts';
import { sso } from './sso.ts';

/** Everything an admin configures. A new resource is a file and a line here, and whatever acts on it. */
export const RESOURCES = [agent, memory, observability, sso, mcpServers, guardrails, prompts, integrations] as const;

export type ResourceName = (typeof RESOURCES)[number]['name'];

/** The whole configuration: the records of each resource. Never changed in place. */
export type ConfigState = Readonly<Record<ResourceName, readonly ConfigRecord[]>>;

/** Resources of which there is one or none, apart from the agent, which has routes of its own. */
export const SINGLETONS: readonly SingletonKind[] = [memory, observability, sso];

export const COLLECTIONS: readonly CollectionKind[] = [mcpServers, guardrails, prompts, integrations];

/** A configuration without anything in it. */
export const EMPTY_STATE = Object.fromEntries(RESOURCES.map(({ name }) => [name, []])) as unknown as ConfigState;

/** The definition of a resource. */
export function resourceKind(name: ResourceName): ResourceKind {
  const kind = RESOURCES.find((known) => known.name === name);
  if (kind === undefined) throw new Error(`there is no resource ${name}`);
  return kind;
}
