import { stringify } from 'yaml';
import type { ConfigRecord } from '../resources/define.ts';
import { type ConfigState, type ResourceName, resourceKind } from '../resources/index.ts';
import { assembleOrder } from './assemble.ts';
import { mapSecrets, maskSecret } from './secret-fields.ts';

type Data = Record<string, unknown>;

/**
 * The configuration as a file: what {@link readDocument} reads, with `${NAME}` in the place of every secret. The names
 * are listed at its head; set them, and the file gives the same configuration elsewhere.
 */
export function exportYaml(state: ConfigState): string {
  const placeholders = new Map<string, string>();
  const clean = (resource: ResourceName, record: ConfigRecord): Data => {
    const prefix = record.slug === null ? resource : `${resource}_${record.slug}`;
    return {
      ...mapSecrets(resourceKind(resource).data, record.data, (text, mark, path) => {
        if (maskSecret(text, mark) === text) return text;
        const name = variableName([prefix, ...path], placeholders);
        placeholders.set(name, text);
        return `\${${name}}`;
      }),
    };
  };
  const all = (resource: ResourceName): { record: ConfigRecord; data: Data }[] =>
    assembleOrder(state, resource).map((record) => ({ record, data: clean(resource, record) }));
  const [agent] = all('agent');
  const [memory] = all('memory');
  const [sso] = all('sso');
  const [observability] = all('observability');
  const guardrails = all('guardrails');
  const at = (position: string): Data[] =>
    guardrails
      .filter(({ data }) => data.position === position)
      .map(({ record, data }) => ({
        ...(literal(data.guardrail, placeholders) as Data),
        ...rowOf(record),
        sort_order: data.sortOrder,
      }));
  const document: Data = {
    ...(agent && agentBlock(agent.data)),
    ...(memory && { memory: memory.data }),
    ...(state['mcp-servers'].length > 0 && {
      mcp_servers: all('mcp-servers').map(({ record, data }) => ({ ...(data.mcpServer as Data), ...rowOf(record) })),
    }),
    ...(guardrails.length > 0 && { guardrails: { input: at('input'), output: at('output') } }),
    ...(observability && { observability: observability.data.observability }),
    ...(sso && { sso: sso.data.sso }),
    ...(state.integrations.length > 0 && {
      integrations: all('integrations').map(({ record, data }) => ({
        ...(data.integration as Data),
        ...rowOf(record),
      })),
    }),
    ...(state.prompts.length > 0 && { prompts: all('prompts').map(({ data }) => literal(data, placeholders)) }),
  };
  const head = [...placeholders.keys()].map((name) => `# Set ${name} in the environment.\n`).join('');
  return head + stringify(document, { lineWidth: 0 });
}

/** Texts that are stored as they are, so that a file's reader takes nothing in them for a reference. */
function literal(value: unknown, placeholders: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') {
    const isPlaceholder = placeholders.has(/^\$\{(\w+)\}$/.exec(value)?.[1] ?? '');
    return isPlaceholder ? value : value.replace(/\$\{/g, () => '$${');
  }
  if (Array.isArray(value)) return value.map((entry) => literal(entry, placeholders));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, literal(entry, placeholders)]));
}

function rowOf({ slug, data }: ConfigRecord): Data {
  return { display_name: data.name, slug, enabled: data.enabled };
}

function agentBlock({ name, description, version, baseUrl, baseEngineConfig }: Data): Data {
  const { server, agent } = baseEngineConfig as { server: Data; agent: Data };
  const { name: id, graph_definition, ...config } = agent.config as Data;
  const ordered = Object.fromEntries(Object.entries(config).sort(([left], [right]) => (left < right ? -1 : 1)));
  return {
    server,
    agent: {
      name,
      description,
      version,
      base_url: baseUrl,
      ...agent,
      config: { name: id, ...(graph_definition !== undefined && { graph_definition }), ...ordered },
    },
  };
}

function variableName(path: readonly (string | number)[], taken: ReadonlyMap<string, string>): string {
  const name = path
    .join('_')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase();
  let unique = name;
  for (let number = 2; taken.has(unique); number += 1) unique = `${name}_${number}`;
  return unique;
}
