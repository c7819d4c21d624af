import { buildEngine, type Engine, type EnginePorts } from '../../engine/build.ts';
import type { SsoConfig } from '../../engine/sign-on.ts';
import { problem } from '../../problems.ts';
import type { ConfigState } from '../resources/index.ts';
import { type Assembly, assemble } from './assemble.ts';
import { asProblem } from './faults.ts';

/** A configuration that was put together and is good. */
export type Assembled = Extract<Assembly, { ok: true }>;

/** What goes into service at once. */
export interface Prepared {
  engine: Engine | undefined;
  sso: SsoConfig | undefined;
}

/** Who decides whose tokens count. */
export interface SignOnRules {
  /** Puts the rules of a configuration that goes live into service. */
  apply(sso: SsoConfig | undefined): void;
  /** Why a configuration must not go live: nobody could administer the server then. */
  refusal(sso: SsoConfig | undefined): string | undefined;
}

/** The way from a stored configuration to what can go into service. Every step throws a Problem. */
export interface Preparation {
  /** A configuration put together and checked. */
  assembled(state: ConfigState): Assembled;
  /** Its engine; undefined when there is no agent in it. */
  build(assembly: Assembled): Promise<Engine | undefined>;
  /** What a changed configuration would put into service. */
  prepare(state: ConfigState): Promise<Prepared>;
}

/** Makes the way. @param options.variables environment that references in the configuration are resolved from. */
export function createPreparation(options: {
  ports: EnginePorts;
  signOn: SignOnRules;
  variables: Readonly<Record<string, string | undefined>>;
}): Preparation {
  const { ports, signOn, variables } = options;
  const assembled = (state: ConfigState): Assembled => {
    const assembly = assemble(state, variables);
    if (!assembly.ok) {
      const details = assembly.faults.map(({ path, message }) => ({ loc: path, msg: message, type: 'value_error' }));
      const reasons = details.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ');
      throw problem('validation_failed', { message: `The configuration is not valid: ${reasons}.`, details });
    }
    return assembly;
  };

  /** The engine of a configuration; undefined when there is no agent in it. @throws Problem. */
  const build = async ({ config }: Assembled): Promise<Engine | undefined> => {
    if (config === undefined) return undefined;
    try {
      return await buildEngine(config, ports);
    } catch (error) {
      throw asProblem(error, 'body');
    }
  };

  /** What a changed configuration would put into service. @throws Problem. */
  const prepare = async (state: ConfigState): Promise<Prepared> => {
    const assembly = assembled(state);
    const refused = signOn.refusal(assembly.sso);
    if (refused !== undefined) {
      const details = [{ loc: ['sso'], msg: refused, type: 'value_error' }];
      throw problem('validation_failed', { message: `The configuration is not valid: sso: ${refused}.`, details });
    }
    return { engine: await build(assembly), sso: assembly.sso };
  };

  return { assembled, build, prepare };
}
