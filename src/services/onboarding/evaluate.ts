import { called, constructed } from './kits.ts';
import type { Detection } from './scan-result.ts';
import { type Binding, functionScope, lookup, type Scope } from './scope.ts';
import { type AnyNode, type FunctionNode, type Node, nameOf, nodesWithin } from './syntax.ts';

/** What an expression is known to give, without running it. */
export type Value = (
  | { kind: 'agent'; framework: Detection['framework']; ready: boolean }
  | { kind: 'function'; node: FunctionNode; scope: Scope }
  | { kind: 'imported'; module: string; name: string }
) & {
  /** The module's own names that it went through. */
  via: readonly Binding[];
};

/** Finds out what the expressions of one module give. */
export interface Evaluator {
  evaluate(node: AnyNode, scope: Scope): Value | undefined;
  boundTo(binding: Binding): Value | undefined;
  /** What a call of the function returns, or the promise it returns becomes. */
  returned(value: Value): Value | undefined;
}

/** Makes an evaluator; it remembers what it has seen, so each node is looked at once. */
export function createEvaluator(): Evaluator {
  const values: Known = new Map();
  const returns: Known = new Map();

  const evaluate: Evaluator['evaluate'] = (node, scope) => once(values, node, () => find(node as Node, scope));

  const boundTo: Evaluator['boundTo'] = (binding) => {
    const { imported, value, member, scope } = binding;
    if (imported !== undefined) return { kind: 'imported', ...imported, via: [] };
    const whole = value && evaluate(value, scope);
    const found = member === undefined ? whole : memberOf(whole, member);
    return found && scope.outer === undefined ? { ...found, via: [binding, ...found.via] } : found;
  };

  const returned: Evaluator['returned'] = (value) => {
    if (value.kind !== 'function' || value.node.generator) return undefined;
    const { node, scope, via } = value;
    const result = once(returns, node, () => {
      const inside = functionScope(node, scope);
      if (node.body.type !== 'BlockStatement') return evaluate(node.body, inside);
      for (const inner of nodesWithin(node.body)) {
        const found = inner.type === 'ReturnStatement' && inner.argument ? evaluate(inner.argument, inside) : undefined;
        if (found?.kind === 'agent') return found;
      }
      return undefined;
    });
    return result?.kind === 'agent' ? { ...result, via: [...via, ...result.via] } : undefined;
  };

  function find(node: Node, scope: Scope): Value | undefined {
    switch (node.type) {
      case 'FunctionDeclaration':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        return { kind: 'function', node, scope, via: [] };
      case 'ClassDeclaration':
      case 'ClassExpression':
        // An instance of it is one of the class it extends.
        return node.superClass ? evaluate(node.superClass, scope) : undefined;
      case 'Identifier': {
        const binding = lookup(node.name, scope);
        return binding && boundTo(binding);
      }
      case 'AwaitExpression':
        return evaluate(node.argument, scope);
      case 'TSAsExpression':
      case 'TSSatisfiesExpression':
      case 'TSNonNullExpression':
      case 'TSTypeAssertion':
      case 'TSInstantiationExpression':
      case 'ParenthesizedExpression':
        return evaluate(node.expression, scope);
      case 'AssignmentExpression':
        return evaluate(node.right, scope);
      case 'LogicalExpression':
        return evaluate(node.left, scope) ?? evaluate(node.right, scope);
      case 'ConditionalExpression':
        return evaluate(node.consequent, scope) ?? evaluate(node.alternate, scope);
      case 'MemberExpression':
      case 'OptionalMemberExpression':
        return memberOf(evaluate(node.object, scope), nameOf(node.property, node.computed));
      case 'NewExpression': {
        const made = evaluate(node.callee, scope);
        const agent = made?.kind === 'imported' ? constructed(made.module, made.name) : undefined;
        return agent && { kind: 'agent', ...agent, via: made?.via ?? [] };
      }
      case 'CallExpression':
      case 'OptionalCallExpression':
        return call(node.callee, node.arguments, scope);
      default:
        return undefined;
    }
  }

  function call(callee: AnyNode, given: AnyNode[], scope: Scope): Value | undefined {
    const [first] = given;
    const loads = callee.type === 'Import' || (nameOf(callee) === 'require' && lookup('require', scope) === undefined);
    if (loads) {
      const module = first && nameOf(first, true);
      return module === undefined ? undefined : { kind: 'imported', module, name: '*', via: [] };
    }
    const node = callee as Node;
    if (node.type === 'MemberExpression' || node.type === 'OptionalMemberExpression') {
      const object = evaluate(node.object, scope);
      if (object?.kind === 'agent') return afterMethod(object, nameOf(node.property, node.computed));
    }
    const target = evaluate(callee, scope);
    if (target?.kind === 'function') return returned(target);
    if (target?.kind !== 'imported') return undefined;
    const framework = called(target.module, target.name);
    return framework && { kind: 'agent', framework, ready: true, via: target.via };
  }

  return { evaluate, boundTo, returned };
}

type Known = Map<AnyNode, Value | undefined>;

/** Remembers what is found; while it is being found out it is unknown, which ends every circle. */
function once(known: Known, node: AnyNode, find: () => Value | undefined): Value | undefined {
  if (!known.has(node)) {
    known.set(node, undefined);
    known.set(node, find());
  }
  return known.get(node);
}

/** What an agent, or the builder of one, is after a call of a method. */
function afterMethod(agent: Extract<Value, { kind: 'agent' }>, method = ''): Value | undefined {
  if (agent.ready) return method === 'withConfig' ? agent : undefined;
  if (method === 'compile') return { ...agent, ready: true };
  return /^(?:add|set)/.test(method) ? agent : undefined;
}

function memberOf(value: Value | undefined, name: string | undefined): Value | undefined {
  if (name === undefined) return undefined;
  // What is exported by default may be the module as a whole, when it is not an ES module.
  if (value?.kind === 'imported' && /^(?:\*|default)$/.test(value.name)) return { ...value, name };
  // What createAgent returns holds its graph.
  return value?.kind === 'agent' && value.ready && name === 'graph' ? value : undefined;
}
