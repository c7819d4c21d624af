import { type ParserPlugin, parse } from '@babel/parser';

/** A module as the parser gives it. */
export type Program = ReturnType<typeof parse>['program'];
export type Statement = Program['body'][number];
export type Expression = Extract<Statement, { type: 'ExpressionStatement' }>['expression'];
export type FunctionNode = Extract<
  Statement | Expression,
  { type: 'FunctionDeclaration' | 'FunctionExpression' | 'ArrowFunctionExpression' }
>;
type Declarator = Extract<Statement, { type: 'VariableDeclaration' }>['declarations'][number];

/** The nodes this program tells apart; there are others. */
export type Node = Statement | Expression | Declarator;

/** Any node at all. */
export interface AnyNode {
  type: string;
}

/** Parses a module as the file's name says. @throws SyntaxError. */
export function parseModule(path: string, text: string): Program {
  const typescript: ParserPlugin[] = /\.[mc]?ts$/i.test(path) ? ['typescript'] : [];
  return parse(text, {
    sourceType: 'unambiguous',
    plugins: [...typescript, 'decorators-legacy', 'explicitResourceManagement'],
    allowReturnOutsideFunction: true,
    attachComment: false,
  }).program;
}

/** Every node within `node` and itself, except what is inside functions and classes: those are named, not entered. */
export function* nodesWithin(node: AnyNode): Generator<Node> {
  yield node as Node;
  if (/^(?:Class|ObjectMethod)|Function/.test(node.type)) return;
  for (const member of Object.values(node)) {
    for (const child of Array.isArray(member) ? member : [member]) if (isNode(child)) yield* nodesWithin(child);
  }
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
}

/** Name of a key or a member where it is written out; undefined where it is computed. */
export function nameOf(key: AnyNode, computed = false): string | undefined {
  const { type, name, value } = key as { type: string; name?: unknown; value?: unknown };
  if (type === 'StringLiteral') return String(value);
  return type === 'Identifier' && !computed ? String(name) : undefined;
}

/** The names that a pattern, such as a parameter, binds. */
export function namesIn(pattern: AnyNode | null): string[] {
  const node = pattern as
    | { type: 'Identifier'; name: string }
    | { type: 'AssignmentPattern'; left: AnyNode }
    | { type: 'RestElement'; argument: AnyNode }
    | { type: 'TSParameterProperty'; parameter: AnyNode }
    | { type: 'ArrayPattern'; elements: (AnyNode | null)[] }
    | { type: 'ObjectPattern'; properties: AnyNode[] }
    | { type: 'ObjectProperty'; value: AnyNode }
    | null;
  switch (node?.type) {
    case 'Identifier':
      return [node.name];
    case 'AssignmentPattern':
      return namesIn(node.left);
    case 'RestElement':
      return namesIn(node.argument);
    case 'TSParameterProperty':
      return namesIn(node.parameter);
    case 'ArrayPattern':
      return node.elements.flatMap(namesIn);
    case 'ObjectPattern':
      return node.properties.flatMap(namesIn);
    case 'ObjectProperty':
      return namesIn(node.value);
    default:
      return [];
  }
}
