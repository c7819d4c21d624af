import type { z } from 'zod';
import { problem } from '../../problems.ts';
import type { AuditMark } from '../access/caller.ts';
import type { AgentStatus } from '../resources/agent.ts';
import type { ConfigRecord } from '../resources/define.ts';
import { guardrails } from '../resources/guardrails.ts';
import type { ConfigState, ResourceName } from '../resources/index.ts';
import { setStatus } from './agent-record.ts';
import { layersOf } from './assemble.ts';
import { findRecord, patch } from './change.ts';
import type { Reconfigure } from './reconfigure.ts';
import { maskedState, shown } from './state-codec.ts';

type Data = Record<string, unknown>;

/** What a managing platform may do: its guardrails are our rows, its agent is ours. No row belongs to a workspace yet. */
export interface Managed {
  /** @throws Problem `not_found`, `conflict` when the row is no ban list, and as any write. */
  updateGuardrail(id: string, body: { name: string; guardrail: Data }, by: AuditMark): Promise<never>;
  /** @throws Problem `not_found`. */
  setAgentStatus(id: string, status: z.infer<typeof AgentStatus>, by: AuditMark): Promise<never>;
}

/** Makes the managed platform's view of the configuration. */
export function createManaged(reconfigure: Reconfigure): Managed {
  return {
    async updateGuardrail(id, { name, guardrail }, by) {
      const { result } = await reconfigure.write({ by, resource: 'guardrails', action: 'update' }, (state, now) => {
        const old = findRecord(state, guardrails, id);
        if ((old.data.guardrail as Data).config_id !== 'ban_list') {
          throw problem('conflict', { message: 'This guardrail is no ban list.' });
        }
        return patch(guardrails, id, { name, guardrail }, { allowStdio: false })(state, now);
      });
      const data = shown('guardrails', result.data);
      return {
        id: result.id,
        name: data.name,
        guardrail: data.guardrail,
        ...times(result),
        agent_count: data.enabled === true ? 1 : 0,
      } as never;
    },
    async setAgentStatus(id, status, by) {
      const record = await reconfigure.store({ by, resource: 'agent', action: 'update' }, setStatus(id, status));
      const { state } = await reconfigure.read();
      const { name, version, baseUrl } = record.data;
      return {
        id,
        name,
        engine_config: layersOf(maskedState(state)),
        ...times(record),
        status,
        version,
        base_url: baseUrl,
        resources: resourcesOf(state),
      } as never;
    },
  };
}

function times({ createdAt, updatedAt }: ConfigRecord) {
  return { created_at: new Date(createdAt).toISOString(), updated_at: new Date(updatedAt).toISOString() };
}

function resourcesOf(state: ConfigState) {
  const ids = (name: ResourceName): string[] => state[name].map(({ id }) => id);
  const [memory] = ids('memory');
  const [sso] = ids('sso');
  return {
    ...(memory !== undefined && { memory_id: memory }),
    ...(sso !== undefined && { sso_id: sso }),
    guardrail_ids: state.guardrails.map(({ id, data }) => ({
      id,
      position: data.position,
      sort_order: data.sortOrder,
    })),
    mcp_server_ids: ids('mcp-servers'),
    observability_ids: ids('observability'),
    integration_ids: ids('integrations'),
  };
}
