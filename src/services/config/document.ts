import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { isRecord } from '../../engine/encode.ts';
import { stampProvider } from '../../engine/observability/index.ts';
import { camelise } from '../../spelling.ts';
import type { ConfigRecord, Origin } from '../resources/define.ts';
import { type ConfigState, EMPTY_STATE, type ResourceName, resourceKind } from '../resources/index.ts';
import { makeSlug } from './slug.ts';

/** A part of a configuration file that could not be taken over. */
export interface DocumentFault {
  resource: ResourceName;
  /** Where in the file it stands. */
  place: (string | number)[];
  issues: z.core.$ZodIssue[];
}

type Data = Record<string, unknown>;

/**
 * Reads the records out of a configuration file (admin contract, section 17). Beside what the engine reads, an entry may
 * say what its record is called (`display_name`), its `slug`, `enabled` and `sort_order`; the agent its `description`,
 * `version` and `base_url`.
 *
 * @param raw the file's content with its references to variables, which are kept as such.
 * @param resolved the same with the variables' values: for members that are no text, and for prompts and guardrails, whose
 *   texts are never searched for references once they are stored.
 * @param now epoch milliseconds.
 */
export function readDocument(
  raw: Data,
  resolved: Data,
  now: number,
  origin: Origin,
): { state: ConfigState; faults: DocumentFault[] } {
  const state: Record<string, ConfigRecord[]> = Object.fromEntries(Object.keys(EMPTY_STATE).map((name) => [name, []]));
  const faults: DocumentFault[] = [];
  const add = (
    resource: ResourceName,
    place: DocumentFault['place'],
    entry: Data,
    fallback: Data,
    slug?: unknown,
  ): void => {
    const kind = resourceKind(resource);
    const asWritten = kind.data.safeParse(entry);
    const parsed = asWritten.success ? asWritten : kind.data.safeParse(fallback);
    if (!parsed.success) {
      faults.push({ resource, place, issues: parsed.error.issues });
      return;
    }
    const records = state[resource] as ConfigRecord[];
    const slugged = kind.cardinality === 'collection' && kind.slugged;
    const taken = new Set(records.map((record) => record.slug ?? ''));
    const wanted = typeof slug === 'string' ? slug : String(entry.name);
    records.push({
      id: randomUUID(),
      slug: slugged ? slugOf(wanted, resource, taken) : null,
      data: parsed.data as Data,
      origin,
      // A millisecond apart, so that they keep the file's order.
      createdAt: now + records.length,
      updatedAt: now + records.length,
    });
  };
  /** Each entry at a place of the file, as written and resolved. What is no entry is a fault. */
  const each = (
    resource: ResourceName,
    place: string[],
    take: (entry: Data, fallback: Data, place: DocumentFault['place'], index: number) => void,
  ): void => {
    const written = valueAt(raw, place);
    const fallback = valueAt(resolved, place);
    if (written === undefined || written === null) return;
    const entries = Array.isArray(written) ? written : [written];
    entries.forEach((entry, index) => {
      const at = Array.isArray(written) ? [...place, index] : place;
      const resolvedEntry: unknown = Array.isArray(fallback) ? fallback[index] : fallback;
      if (isRecord(entry)) take(entry, isRecord(resolvedEntry) ? resolvedEntry : entry, at, index);
      else
        faults.push({
          resource,
          place: at,
          issues: z.record(z.string(), z.unknown()).safeParse(entry).error?.issues ?? [],
        });
    });
  };

  each('agent', ['agent'], (entry, fallback, place) => {
    add('agent', place, agentData(entry, resolved.server), agentData(fallback, resolved.server));
    const memory = memoryData(entry);
    if (memory !== undefined) add('memory', [...place, 'config'], memory, memoryData(fallback) ?? memory);
  });
  each('memory', ['memory'], (entry, fallback, place) => {
    if (state.memory?.length === 0) add('memory', place, camelise(entry) as Data, camelise(fallback) as Data);
  });
  each('sso', ['sso'], (entry, fallback, place) =>
    add('sso', place, { sso: camelise(entry) }, { sso: camelise(fallback) }),
  );
  const providers = camelise(raw.observability);
  if (Array.isArray(providers) ? providers.length > 0 : providers !== undefined && providers !== null) {
    const fallback = { observability: stamped(camelise(resolved.observability)) };
    add('observability', ['observability'], { observability: stamped(providers) }, fallback);
  }
  each('mcp-servers', ['mcpServers'], (entry, fallback, place) => {
    const { row, inner } = split(entry, entry.name);
    add(
      'mcp-servers',
      place,
      { ...row, mcpServer: inner },
      { ...row, mcpServer: split(fallback, '').inner },
      entry.slug,
    );
  });
  for (const position of ['input', 'output']) {
    each('guardrails', ['guardrails', position], (_, entry, place, index) => {
      const { row, inner } = split(entry, entry.config_id, false);
      const data = { ...row, position, sortOrder: entry.sort_order ?? index, guardrail: inner };
      add('guardrails', place, data, data, entry.slug);
    });
  }
  each('integrations', ['integrations'], (entry, fallback, place) => {
    const { row, inner } = split(entry, entry.provider);
    const data = { ...row, integration: inner };
    add('integrations', place, data, { ...row, integration: split(fallback, '').inner }, entry.slug);
  });
  each('prompts', ['prompts'], (_, entry, place) => {
    const data = camelise(entry) as Data;
    const twice = state.prompts?.some(
      (known) => known.data.promptId === data.promptId && known.data.version === data.version,
    );
    if (twice === true) {
      const issue: z.core.$ZodIssue = {
        code: 'custom',
        path: ['version'],
        message: 'is there twice',
        input: undefined,
      };
      faults.push({ resource: 'prompts', place, issues: [issue] });
    } else add('prompts', place, data, data);
  });
  return { state: state as unknown as ConfigState, faults };
}

/** A slug of a name, or of what the record is where the name has nothing to make one of. */
function slugOf(name: string, resource: string, taken: ReadonlySet<string>): string {
  try {
    return makeSlug(name, taken);
  } catch {
    return makeSlug(resource, taken);
  }
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, key) => (isRecord(inner) ? inner[key] : undefined), value);
}

/** An entry's record and its inner object. */
function split(entry: Data, name: unknown, camel = true): { row: Data; inner: Data } {
  const { display_name: title, enabled = true, slug: _slug, sort_order: _order, ...inner } = entry;
  return { row: { name: title ?? name, enabled }, inner: (camel ? camelise(inner) : inner) as Data };
}

function agentData(agent: Data, server: unknown): Data {
  const { type, config, name, description, version, base_url: baseUrl } = agent;
  const { checkpointer: _checkpointer, session_service: _sessions, ...rest } = isRecord(config) ? config : {};
  const port = isRecord(server) && isRecord(server.api) ? server.api.port : undefined;
  return {
    name: name ?? rest.name,
    ...(description !== undefined && { description }),
    ...(version !== undefined && { version }),
    ...(baseUrl !== undefined && { baseUrl }),
    baseEngineConfig: { server: { api: { port: Number(port ?? 8000) } }, agent: { type, config: rest } },
  };
}

function memoryData({ type, config }: Data): Data | undefined {
  if (!isRecord(config)) return undefined;
  const memory = type === 'ADK' ? config.session_service : config.checkpointer;
  return isRecord(memory) ? { agentFramework: type, memory } : undefined;
}

/** Providers whose inner name is missing get the outer one. */
export function stamped(providers: unknown): unknown {
  return Array.isArray(providers) ? providers.map(stampProvider) : stampProvider(providers);
}
