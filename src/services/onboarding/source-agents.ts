import { createEvaluator, type Evaluator, type Value } from './evaluate.ts';
import type { Detection } from './scan-result.ts';
import { type Binding, createScope, lookup, type Scope } from './scope.ts';
import { type AnyNode, nameOf, type Program, parseModule } from './syntax.ts';

/** An export that is an agent, or a function that returns one. */
export interface ExportedAgent {
  framework: Detection['framework'];
  variableName: string;
}

interface Exported {
  name: string;
  binding: Binding | undefined;
  value: Value | undefined;
}

/**
 * The agents a module exports, in the order of its text. Of what leads to the same agent the last step counts: the
 * compiled graph hides its builder and the function that made it, if they are exported too.
 *
 * @throws SyntaxError when the module cannot be parsed.
 */
export function findAgents(path: string, text: string): ExportedAgent[] {
  const program = parseModule(path, text);
  const scope = createScope(program.body, undefined);
  const evaluator = createEvaluator();
  const found = exportsOf(program, scope, evaluator).flatMap(({ name, binding, value }) => {
    const agent = value?.kind === 'function' ? evaluator.returned(value) : value;
    if (agent?.kind !== 'agent' || !EXPORT_NAME.test(name)) return [];
    const via = new Set([...agent.via, ...(value?.via ?? [])]);
    return [{ name, binding, framework: agent.framework, via }];
  });
  // One thing under several names: its own rather than `default`, else the first.
  const single = new Map<Binding | string, (typeof found)[number]>();
  for (const each of found) {
    const key = each.binding ?? each.name;
    if ((single.get(key)?.name ?? 'default') === 'default') single.set(key, each);
  }
  const agents = [...single.values()];
  const isStep = (binding: Binding): boolean =>
    agents.some((other) => other.binding !== binding && other.via.has(binding));
  return agents
    .filter(({ binding }) => binding === undefined || !isStep(binding))
    .map(({ name, framework }) => ({ framework, variableName: name }));
}

/** Names that can follow the colon of `path:export`. */
const EXPORT_NAME = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

function exportsOf(program: Program, scope: Scope, { evaluate, boundTo }: Evaluator): Exported[] {
  const exported = (name: string, node: AnyNode): Exported => {
    const own = node.type === 'Identifier' ? lookup(nameOf(node) ?? '', scope) : undefined;
    return own
      ? { name, binding: own, value: boundTo(own) }
      : { name, binding: undefined, value: evaluate(node, scope) };
  };
  return program.body.flatMap((statement): Exported[] => {
    switch (statement.type) {
      case 'ExportDefaultDeclaration': {
        const { declaration } = statement;
        const id = declaration.type === 'FunctionDeclaration' ? declaration.id : undefined;
        return [exported('default', id ?? declaration)];
      }
      case 'ExportNamedDeclaration': {
        if (statement.exportKind === 'type' || statement.source) return [];
        const { declaration } = statement;
        if (declaration?.type === 'FunctionDeclaration' && declaration.id) {
          return [exported(declaration.id.name, declaration.id)];
        }
        if (declaration?.type === 'VariableDeclaration') {
          return declaration.declarations.flatMap(({ id }) =>
            id.type === 'Identifier' ? [exported(id.name, id)] : [],
          );
        }
        return statement.specifiers.flatMap((specifier) =>
          specifier.type === 'ExportSpecifier' ? [exported(nameOf(specifier.exported) ?? '', specifier.local)] : [],
        );
      }
      case 'ExpressionStatement': {
        const { expression } = statement;
        if (program.sourceType !== 'script' || expression.type !== 'AssignmentExpression') return [];
        const { left, right } = expression;
        if (isModuleExports(left)) {
          if (right.type !== 'ObjectExpression') return [];
          return right.properties.flatMap((property) =>
            property.type === 'ObjectProperty'
              ? [exported(nameOf(property.key, property.computed) ?? '', property.value)]
              : [],
          );
        }
        if (left.type !== 'MemberExpression') return [];
        const onExports = nameOf(left.object) === 'exports' || isModuleExports(left.object);
        return onExports ? [exported(nameOf(left.property, left.computed) ?? '', right)] : [];
      }
      default:
        return [];
    }
  });
}

function isModuleExports(node: AnyNode): boolean {
  const { type, object, property } = node as { type: string; object?: AnyNode; property?: AnyNode };
  if (type !== 'MemberExpression' || object === undefined || property === undefined) return false;
  return nameOf(object) === 'module' && nameOf(property) === 'exports';
}
