import { type AnyNode, type Expression, type FunctionNode, type Node, nameOf, namesIn, nodesWithin } from './syntax.ts';

/** A name, and what is known of the thing it stands for. */
export interface Binding {
  /** The scope that holds the name. */
  readonly scope: Scope;
  /** Where an imported thing comes from, and its name there; `*` for the whole module. */
  readonly imported?: { module: string; name: string };
  /** What the name was given, or the function or class it is declared as. */
  value?: Node;
  /** Member of `value` that the name stands for, where it was taken out of an object. */
  readonly member?: string;
}

/** The names of a module or of a function. Blocks within it are not told apart. */
export interface Scope {
  readonly outer: Scope | undefined;
  readonly bindings: Map<string, Binding>;
}

/** What a name stands for where `scope` is. */
export function lookup(name: string, scope: Scope): Binding | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
    const binding = at.bindings.get(name);
    if (binding !== undefined) return binding;
  }
  return undefined;
}

/** The scope of the names declared within `nodes`. */
export function createScope(nodes: readonly AnyNode[], outer: Scope | undefined): Scope {
  const scope: Scope = { outer, bindings: new Map() };
  const assigned: [name: string, value: Expression][] = [];
  for (const top of nodes) {
    for (const node of nodesWithin(top)) {
      for (const [name, binding] of declaredBy(node)) {
        if (!scope.bindings.has(name)) scope.bindings.set(name, { scope, ...binding });
      }
      if (node.type === 'AssignmentExpression' && node.operator === '=' && node.left.type === 'Identifier') {
        assigned.push([node.left.name, node.right]);
      }
    }
  }
  // `let graph;` with its value in a statement of its own.
  for (const [name, value] of assigned) {
    const binding = scope.bindings.get(name);
    if (binding !== undefined && binding.imported === undefined) binding.value ??= value;
  }
  return scope;
}

/** The scope inside a function. What is handed to it cannot be known, and hides what has the same name outside. */
export function functionScope(node: FunctionNode, outer: Scope): Scope {
  const scope = createScope([node.body], outer);
  for (const name of node.params.flatMap(namesIn)) {
    if (!scope.bindings.has(name)) scope.bindings.set(name, { scope });
  }
  return scope;
}

function declaredBy(node: Node): [name: string, binding: Omit<Binding, 'scope'>][] {
  switch (node.type) {
    case 'ImportDeclaration':
      if (node.importKind === 'type') return [];
      return node.specifiers.map((specifier) => {
        const whole = specifier.type === 'ImportNamespaceSpecifier' ? '*' : 'default';
        const name = specifier.type === 'ImportSpecifier' ? (nameOf(specifier.imported) ?? '') : whole;
        return [specifier.local.name, { imported: { module: node.source.value, name } }];
      });
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
      return node.id ? [[node.id.name, { value: node }]] : [];
    case 'VariableDeclarator': {
      const value = node.init ? { value: node.init } : {};
      if (node.id.type === 'Identifier') return [[node.id.name, value]];
      if (node.id.type !== 'ObjectPattern') return namesIn(node.id).map((name) => [name, {}]);
      return node.id.properties.flatMap((property) => {
        const member = property.type === 'ObjectProperty' ? nameOf(property.key, property.computed) : undefined;
        return namesIn(property).map((name): [string, Omit<Binding, 'scope'>] => [
          name,
          member === undefined ? {} : { ...value, member },
        ]);
      });
    }
    default:
      return [];
  }
}
